// The environment of this process for a gateway beside it, without the variables that steer the tests: a gateway refuses what it does not read.

export function ownEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_')))
}
