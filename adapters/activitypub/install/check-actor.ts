// Checks that an actor's document holds what other servers need of it: a name, an inbox, a key they can read.
import type { Handle } from './check-webfinger.ts'
import { checkResult, displayValue, type Finding, failedCheck, passedCheck } from './finding.ts'
import { activityJson, describeResponse, type Fields, type ProbeFetch } from './look.ts'

export type Actor = { readonly findings: readonly Finding[]; readonly json: Fields | undefined }

const minimumBits = 2048
const types: ReadonlySet<unknown> = new Set(['Service', 'Application', 'Person', 'Group', 'Organization'])

export async function checkActor(look: ProbeFetch, actor: string, handle: Handle): Promise<Actor> {
  const looked = await look(actor, activityJson)
  const { json } = looked
  if (looked.status !== 200 || json === undefined) {
    const remedy = `answer GET of the actor with Accept ${activityJson} with its document, also without a signature`
    return { json: undefined, findings: [failedCheck('actor', describeResponse(looked), remedy)] }
  }
  const isTyped = looked.type === activityJson || looked.type === 'application/ld+json'
  return {
    json,
    findings: [
      checkResult('actor', isTyped, describeResponse(looked), `answer with ${activityJson}`),
      checkResult(
        'actor id',
        json['id'] === actor,
        displayValue(json['id']),
        'its id must be the address the self link names',
      ),
      checkResult('actor type', types.has(json['type']), displayValue(json['type']), 'make it a Service'),
      checkResult(
        ...([
          'user name',
          isSameUser(json['preferredUsername'], handle.user),
          displayValue(json['preferredUsername']),
        ] as const),
        `preferredUsername must be ${handle.user}`,
      ),
      checkResult(
        ...([
          'varies',
          /accept/i.test(looked.headers.get('vary') ?? ''),
          `Vary: ${displayValue(looked.headers.get('vary') ?? 'none')}`,
        ] as const),
        'send Vary: Accept, else a cache in between shows browsers the document and servers the page',
      ),
      await checkKey(look, json, actor),
      checkProofKey(json),
    ],
  }
}

async function checkKey(look: ProbeFetch, json: Fields, actor: string): Promise<Finding> {
  const key = fieldsOrEmpty(json['publicKey'])
  const { id, owner, publicKeyPem } = key
  if (typeof id !== 'string' || !URL.canParse(id) || typeof publicKeyPem !== 'string')
    return failedCheck('key', 'none', 'list publicKey with id, owner and publicKeyPem')
  if (owner !== actor) return failedCheck('key', `owner ${displayValue(owner)}`, 'its owner must be the actor')
  const bits = await rsaKeyBits(publicKeyPem)
  if (bits === undefined || bits < minimumBits)
    return failedCheck(
      'key',
      bits === undefined ? 'no RSA key' : `RSA of ${bits} bits`,
      `use RSA of ${minimumBits} bits or more`,
    )
  const { json: found } = await look(id.split('#')[0] ?? id, activityJson)
  const there = found?.['id'] === id ? found : fieldsOrEmpty(found?.['publicKey'])
  return there['publicKeyPem'] === publicKeyPem
    ? passedCheck('key', `RSA of ${bits} bits, found at its address`)
    : failedCheck('key', 'another one at its address', 'the address of the key must lead to a document that holds it')
}

/** Needed only for proofs inside activities. */
function checkProofKey({ assertionMethod }: Fields): Finding {
  const all = (Array.isArray(assertionMethod) ? assertionMethod : [assertionMethod]).map(fieldsOrEmpty)
  const isThere = all.some(({ publicKeyMultibase: key }) => typeof key === 'string' && key.startsWith('z6Mk'))
  return checkResult('proof key', isThere, isThere ? 'Ed25519' : 'none', 'list an Ed25519 Multikey in assertionMethod')
}

async function rsaKeyBits(pem: string): Promise<number | undefined> {
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

function isSameUser(value: unknown, user: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === user.toLowerCase()
}

export function fieldsOrEmpty(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
