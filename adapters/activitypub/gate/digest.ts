// Checks that the body is the one that was signed: every digest that came with it must match. One whose
// algorithm we cannot compute may be the wrong one of two, so it is not passed over.
import { sha256Bytes } from '../../../src/verification/index.ts'
import { base64Bytes } from './base64.ts'
import { type GateReason, type Refused, refused } from './refusal.ts'
import { readDictionary } from './structured-fields.ts'

type Headers = Readonly<Record<string, string>>
type Claimed = { readonly algorithm: string; readonly bytes: Uint8Array }

const maxLength = 1024

export async function checkDigests(headers: Headers, body: Uint8Array): Promise<Refused | undefined> {
  const [legacy, current] = [headers['digest'], headers['content-digest']]
  if (legacy === undefined && current === undefined) return refused('missing_digest')
  const claims = [...read(legacy, legacyDigests), ...read(current, contentDigests)]
  // Several may be of one kind; the body is gone through once for each kind.
  const known = new Map<string, Uint8Array | undefined>()
  for (const claim of claims) {
    if (claim === undefined) return refused('malformed_digest')
    const { algorithm } = claim
    if (!known.has(algorithm)) known.set(algorithm, await computed(algorithm, body))
    const fault = compare(claim, known.get(algorithm))
    if (fault !== undefined) return refused(fault)
  }
  return undefined
}

function read(
  header: string | undefined,
  reader: (header: string) => readonly (Claimed | undefined)[],
): readonly (Claimed | undefined)[] {
  if (header === undefined) return []
  const claims = header.length > maxLength ? [] : reader(header)
  return claims.length === 0 ? [undefined] : claims
}

/** `SHA-256=…,SHA-512=…` (RFC 3230); servers differ in how they write the name. */
function legacyDigests(header: string): readonly (Claimed | undefined)[] {
  return header.split(',').map((part) => {
    const at = part.indexOf('=')
    const bytes = base64Bytes(part.slice(at + 1).trim())
    return at < 0 || bytes === undefined ? undefined : { algorithm: part.slice(0, at).trim().toLowerCase(), bytes }
  })
}

/** RFC 9530. */
function contentDigests(header: string): readonly (Claimed | undefined)[] {
  const members = readDictionary(header)
  if (members === undefined) return [undefined]
  return [...members].map(([algorithm, member]) =>
    member.kind === 'item' && member.bare.type === 'bytes' ? { algorithm, bytes: member.bare.value } : undefined,
  )
}

function compare({ bytes }: Claimed, actual: Uint8Array | undefined): GateReason | undefined {
  if (actual === undefined) return 'malformed_digest'
  // Nothing here is secret: the sender of the digest has sent the body, too.
  const isSame = actual.length === bytes.length && actual.every((byte, index) => byte === bytes[index])
  return isSame ? undefined : 'digest_mismatch'
}

async function computed(algorithm: string, body: Uint8Array): Promise<Uint8Array | undefined> {
  if (algorithm === 'sha-256') return sha256Bytes(body)
  if (algorithm !== 'sha-512') return undefined
  return new Uint8Array(await crypto.subtle.digest('SHA-512', new Uint8Array(body)))
}
