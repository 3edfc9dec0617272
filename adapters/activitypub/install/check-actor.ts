// Checks that an actor's document holds what other servers need of it: a name, an inbox, a key they can read.
import type { Handle } from './check-webfinger.ts'
import { type Finding, fine, judged, shown, wrong } from './finding.ts'
import { activityJson, type Fields, type Look, saidBy } from './look.ts'

export type Actor = { readonly findings: readonly Finding[]; readonly json: Fields | undefined }

const minimumBits = 2048
const types: ReadonlySet<unknown> = new Set(['Service', 'Application', 'Person', 'Group', 'Organization'])

export async function checkActor(look: Look, actor: string, handle: Handle): Promise<Actor> {
  const looked = await look(actor, activityJson)
  const { json } = looked
  if (looked.status !== 200 || json === undefined) {
    const remedy = `answer GET of the actor with Accept ${activityJson} with its document, also without a signature`
    return { json: undefined, findings: [wrong('actor', saidBy(looked), remedy)] }
  }
  const isTyped = looked.type === activityJson || looked.type === 'application/ld+json'
  return {
    json,
    findings: [
      judged('actor', isTyped, saidBy(looked), `answer with ${activityJson}`),
      judged('actor id', json['id'] === actor, shown(json['id']), 'its id must be the address the self link names'),
      judged('actor type', types.has(json['type']), shown(json['type']), 'make it a Service'),
      judged(
        ...(['user name', isSame(json['preferredUsername'], handle.user), shown(json['preferredUsername'])] as const),
        `preferredUsername must be ${handle.user}`,
      ),
      judged(
        ...([
          'varies',
          /accept/i.test(looked.headers.get('vary') ?? ''),
          `Vary: ${shown(looked.headers.get('vary') ?? 'none')}`,
        ] as const),
        'send Vary: Accept, else a cache in between shows browsers the document and servers the page',
      ),
      await checkKey(look, json, actor),
      checkProofKey(json),
    ],
  }
}

async function checkKey(look: Look, json: Fields, actor: string): Promise<Finding> {
  const key = fieldsOf(json['publicKey'])
  const { id, owner, publicKeyPem } = key
  if (typeof id !== 'string' || !URL.canParse(id) || typeof publicKeyPem !== 'string')
    return wrong('key', 'none', 'list publicKey with id, owner and publicKeyPem')
  if (owner !== actor) return wrong('key', `owner ${shown(owner)}`, 'its owner must be the actor')
  const bits = await bitsOf(publicKeyPem)
  if (bits === undefined || bits < minimumBits)
    return wrong(
      'key',
      bits === undefined ? 'no RSA key' : `RSA of ${bits} bits`,
      `use RSA of ${minimumBits} bits or more`,
    )
  const { json: found } = await look(id.split('#')[0] ?? id, activityJson)
  const there = found?.['id'] === id ? found : fieldsOf(found?.['publicKey'])
  return there['publicKeyPem'] === publicKeyPem
    ? fine('key', `RSA of ${bits} bits, found at its address`)
    : wrong('key', 'another one at its address', 'the address of the key must lead to a document that holds it')
}

/** Needed only for proofs inside activities. */
function checkProofKey({ assertionMethod }: Fields): Finding {
  const all = (Array.isArray(assertionMethod) ? assertionMethod : [assertionMethod]).map(fieldsOf)
  const isThere = all.some(({ publicKeyMultibase: key }) => typeof key === 'string' && key.startsWith('z6Mk'))
  return judged('proof key', isThere, isThere ? 'Ed25519' : 'none', 'list an Ed25519 Multikey in assertionMethod')
}

async function bitsOf(pem: string): Promise<number | undefined> {
  const base64 = pem.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '')
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('spki', bytes, algorithm, true, ['verify'])
    // Of an RSA key the algorithm says this, too.
    return (key.algorithm as { readonly modulusLength?: number }).modulusLength
  } catch {
    return undefined
  }
}

function isSame(value: unknown, user: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === user.toLowerCase()
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
