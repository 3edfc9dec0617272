// Which group a sender belongs to, where a limit counts strangers together: a mail domain, a fediverse server, a workspace,
// an issuer of tokens.

/** Second-level labels under which registries of two-letter domains sell names (`co.uk`, `com.au`). */
const registryLabels: ReadonlySet<string> = new Set([
  'ac',
  'co',
  'com',
  'ed',
  'edu',
  'gen',
  'go',
  'gob',
  'gov',
  'govt',
  'gv',
  'id',
  'idv',
  'ind',
  'info',
  'int',
  'k12',
  'ltd',
  'me',
  'mil',
  'ne',
  'net',
  'nhs',
  'nom',
  'or',
  'org',
  'plc',
  'pub',
  'res',
  'sch',
  'web',
])

/** Undefined where the subject names no group: such people are counted one by one. */
export function senderGroup(subject: string): string | undefined {
  if (subject.startsWith('mailto:')) return registrableDomain(subject.slice(subject.lastIndexOf('@') + 1))
  const { hostname = '' } = /^https?:/i.test(subject) ? (URL.parse(subject) ?? {}) : {}
  if (hostname !== '') return registrableDomain(hostname)
  const end = Math.max(subject.lastIndexOf('/'), subject.lastIndexOf('#'))
  return end > 0 ? subject.slice(0, end) : undefined
}

/**
 * The part of a domain that is bought: who owns it makes as many names below it as they like. Near enough without the list of public
 * suffixes, since only strangers are counted by it.
 */
export function registrableDomain(host: string): string {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (/^[\d.]+$/.test(name) || name.includes(':')) return name
  const [second = '', top = ''] = labels.slice(-2)
  return labels.slice(top.length === 2 && registryLabels.has(second) ? -3 : -2).join('.')
}
