// The name of a tool as models are shown it. Providers take 64 letters, digits, _ and -; ours are `namespace/name`, so every
// tool has a second spelling, made of its name alone: the same after a restart, and never that of another tool.
const maxProviderName = 64

const allowed = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/**
 * `files/read_file` is `files__read_file`. Where the way back would not be clear (`a__b/c` and `a/b__c`), or the spelling too
 * long, a fingerprint of the whole name ends it; its capital letter keeps it apart from every name that needs none.
 */
export function providerSafeName(name: string): string {
  const safe = name.replace('/', '__')
  const hasOneReading = name.includes('/') && !/___|[A-Z]/.test(safe) && safe.split('__').length === 2
  if (hasOneReading && isProviderName(safe)) return safe
  const end = `_X${fingerprint(name)}`
  const readable = name.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^[^A-Za-z]+/, '')
  return `${(readable === '' ? 'tool' : readable).slice(0, maxProviderName - end.length)}${end}`
}

export function isProviderName(name: unknown): name is string {
  return typeof name === 'string' && allowed.test(name)
}

/** FNV-1a in 64 bits, in hex: tells names apart, keeps nothing secret. */
export function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash.toString(16).padStart(16, '0')
}
