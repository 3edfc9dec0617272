// Which addresses are of the public internet (IANA's special-purpose registries). What cannot be read is not.

type Block = readonly [base: number, bits: number]

/** IPv4 that is private, local, shared, reserved, for documentation, or for many. */
const closedV4: readonly Block[] = [
  v4Block('0.0.0.0', 8),
  v4Block('10.0.0.0', 8),
  v4Block('100.64.0.0', 10),
  v4Block('127.0.0.0', 8),
  v4Block('169.254.0.0', 16),
  v4Block('172.16.0.0', 12),
  v4Block('192.0.0.0', 24),
  v4Block('192.0.2.0', 24),
  v4Block('192.88.99.0', 24),
  v4Block('192.168.0.0', 16),
  v4Block('198.18.0.0', 15),
  v4Block('198.51.100.0', 24),
  v4Block('203.0.113.0', 24),
  v4Block('224.0.0.0', 4),
  v4Block('240.0.0.0', 4),
]

export function isPublicAddress(address: string): boolean {
  const four = readV4(address)
  if (four !== undefined) return isPublicV4(four)
  const six = readV6(address)
  return six !== undefined && isPublicV6(six)
}

function isPublicV4(address: number): boolean {
  return !closedV4.some(([base, bits]) => address >>> (32 - bits) === base >>> (32 - bits))
}

/** Only 2000::/3 was ever given out, and of it not what tunnels, documents or identifies; the rest stands for an IPv4. */
function isPublicV6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups
  const isZero = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0)
  const isMapped = isZero(0, 5) && groups[5] === 0xffff
  const isTranslated = first === 0x64 && second === 0xff9b && isZero(2, 6)
  if (isMapped || isTranslated) return isPublicV4(embeddedV4(groups))
  if (first >>> 13 !== 1) return false
  const isSpecial = first === 0x2001 && second < 0x200
  const isDocumentation = (first === 0x2001 && second === 0xdb8) || (first === 0x3fff && second < 0x1000)
  return !isSpecial && !isDocumentation && first !== 0x2002
}

function embeddedV4(groups: readonly number[]): number {
  return ((groups[6] ?? 0) * 0x1_0000 + (groups[7] ?? 0)) >>> 0
}

/** Four decimal numbers, as a resolver or the URL parser writes them; other spellings are refused. */
function readV4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const octets = match.slice(1).map(Number)
  return octets.every((octet) => octet <= 255) ? octets.reduce((sum, octet) => sum * 256 + octet, 0) : undefined
}

function readV6(text: string): readonly number[] | undefined {
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !text.includes(':')) return undefined
  const [head = '', tail, more] = text.split('::')
  if (more !== undefined) return undefined
  const left = parseIpv6Groups(head)
  const right = tail === undefined ? [] : parseIpv6Groups(tail)
  if (left === undefined || right === undefined) return undefined
  const missing = 8 - left.length - right.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  return [...left, ...Array.from({ length: missing }, () => 0), ...right]
}

function parseIpv6Groups(text: string): readonly number[] | undefined {
  if (text === '') return []
  const words = text.split(':')
  const last = words.at(-1) ?? ''
  const four = last.includes('.') ? readV4(last) : undefined
  if (last.includes('.') && four === undefined) return undefined
  const hex = four === undefined ? words : words.slice(0, -1)
  if (!hex.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return undefined
  const groups = hex.map((word) => Number.parseInt(word, 16))
  return four === undefined ? groups : [...groups, four >>> 16, four & 0xffff]
}

function v4Block(base: string, bits: number): Block {
  return [readV4(base) ?? 0, bits]
}
