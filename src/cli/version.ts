// The release, as `parley --version` and backups say it.
export const version = '0.1.0'
