// Settings of the embedded PostgreSQL: those an operator may give (PARLEY_POSTGRES_OPTIONS), and those the gateway keeps.

/** What the gateway's promises rest on; neither the operator's settings nor postgresql.conf take it back. */
export const fixedPostgresSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  port: '5432',
  listen_addresses: '',
  // Relative to its folder, so of any length.
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_timezone: 'UTC',
  // Above statements' errors, which may quote values: no message text reaches the log.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
} as const

const kept = new Set([
  ...Object.keys(fixedPostgresSettings),
  'cluster_name',
  'data_directory',
  'config_file',
  'hba_file',
])

/** `shared_buffers=256MB work_mem=16MB`, as `name=value` separated by spaces. */
export function readPostgresSettings(text: string | undefined, problems: string[]): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {}
  for (const word of (text ?? '').split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^([a-z][a-z0-9_.]*)=(.+)$/.exec(word) ?? []
    if (name === undefined || value === undefined)
      problems.push(`PARLEY_POSTGRES_OPTIONS: "${word}" is not name=value; write shared_buffers=256MB work_mem=16MB`)
    else if (kept.has(name)) problems.push(`PARLEY_POSTGRES_OPTIONS: ${name} is set by the gateway; leave it out`)
    else settings[name] = value
  }
  return settings
}
