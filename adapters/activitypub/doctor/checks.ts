// Checks of an agent from outside, as other servers see it: its actor document, its handle, its instance, and what its document
// points at.
import { decodeBase64, type Fields, parseBoundedJson, readBody } from '../../../src/lib/index.ts'

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
        printableValue(json['id']),
        'its id must be the address the self link names',
      ),
      checkResult('actor type', types.has(json['type']), printableValue(json['type']), 'make it a Service'),
      checkResult(
        ...([
          'user name',
          isSameUser(json['preferredUsername'], handle.user),
          printableValue(json['preferredUsername']),
        ] as const),
        `preferredUsername must be ${handle.user}`,
      ),
      checkResult(
        ...([
          'varies',
          /accept/i.test(looked.headers.get('vary') ?? ''),
          `Vary: ${printableValue(looked.headers.get('vary') ?? 'none')}`,
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
  if (owner !== actor) return failedCheck('key', `owner ${printableValue(owner)}`, 'its owner must be the actor')
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
    const bytes = decodeBase64(base64)
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

// A handle must lead to an actor and the actor back to the handle: servers drop actors that do not.

export type Handle = { readonly user: string; readonly host: string }
export type WebFinger = { readonly findings: readonly Finding[]; readonly actor: string | undefined }

const activityTypes = /^application\/(?:activity\+json|ld\+json\s*;.*activitystreams)/i
const proxy = 'let the proxy pass /.well-known/webfinger on to the gateway'

export async function checkWebFinger(look: ProbeFetch, { user, host }: Handle): Promise<WebFinger> {
  const subject = `acct:${user}@${host}`
  const looked = await look(webFingerUrl(host, subject), jrdJson)
  if (looked.status !== 200 || looked.json === undefined)
    return {
      findings: [failedCheck('webfinger', describeResponse(looked), remedyForResponse(looked))],
      actor: undefined,
    }
  const { json } = looked
  const actor = webFingerSelfLink(json)
  const isNamed = String(json['subject']).toLowerCase() === subject.toLowerCase()
  return {
    actor,
    findings: [
      passedCheck('webfinger', describeResponse(looked)),
      checkResult(
        'webfinger type',
        looked.type === jrdJson,
        looked.type,
        `answer with ${jrdJson}: some servers read nothing else`,
      ),
      checkResult(
        'subject',
        isNamed,
        printableValue(json['subject']),
        `make it ${subject}, or check the handle it names`,
      ),
      actor === undefined
        ? failedCheck('self link', 'none', 'list a link of rel self with type application/activity+json')
        : checkResult(
            'self link',
            actor.startsWith('https:'),
            printableValue(actor),
            'set PARLEY_PUBLIC_URL to an https address',
          ),
    ],
  }
}

/** The actor's own address is asked for, too: by servers that met the actor first. */
export async function checkWebFingerOfActor(look: ProbeFetch, { user, host }: Handle, actor: string): Promise<Finding> {
  const { json, ...looked } = await look(webFingerUrl(new URL(actor).host, actor), jrdJson)
  const isSame = String(json?.['subject']).toLowerCase() === `acct:${user}@${host}`.toLowerCase()
  const said = json === undefined ? describeResponse({ json, ...looked }) : printableValue(json['subject'])
  return checkResult('way back', isSame, said, `answer the actor’s address with the subject acct:${user}@${host}`)
}

function webFingerUrl(host: string, resource: string): string {
  return `https://${host}/.well-known/webfinger?resource=${encodeURIComponent(resource)}`
}

function remedyForResponse({ status }: ProbeResponse): string {
  if (status === undefined) return 'make the host reachable by https from outside, with a certificate others trust'
  if (status === 404) return `check the name of the agent, and ${proxy}`
  return proxy
}

export function webFingerSelfLink({ links }: Fields): string | undefined {
  for (const link of Array.isArray(links) ? links : []) {
    if (typeof link !== 'object' || link === null) continue
    const { rel, type, href } = link as Fields
    const isSelf = rel === 'self' && typeof type === 'string' && activityTypes.test(type)
    if (isSelf && typeof href === 'string' && URL.canParse(href)) return href
  }
  return undefined
}

export type Finding = {
  readonly check: string
  readonly isFine: boolean
  readonly said: string
  /** Where it is not fine. */
  readonly remedy?: string
}

function passedCheck(check: string, said: string): Finding {
  return { check, isFine: true, said }
}

function failedCheck(check: string, said: string, remedy: string): Finding {
  return { check, isFine: false, said, remedy }
}

function checkResult(check: string, isFine: boolean, said: string, remedy: string): Finding {
  return isFine ? passedCheck(check, said) : failedCheck(check, said, remedy)
}

/** Words of another server, for people: printable and short. */
function printableValue(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? 'nothing' : typeof value
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120)
}

// A request is made as another server would make it: bounded, and reported in our words.

type ProbeResponse = {
  /** Undefined: no answer. */
  readonly status: number | undefined
  /** Small letters, without parameters. */
  readonly type: string
  readonly headers: Headers
  readonly json: Fields | undefined
}

export type ProbeFetch = (url: string, accept: string, body?: string) => Promise<ProbeResponse>

const timeoutMs = 10_000
const maxBytes = 1024 * 1024
const noResponse: ProbeResponse = { status: undefined, type: '', headers: new Headers(), json: undefined }

export const activityJson = 'application/activity+json'
export const jrdJson = 'application/jrd+json'

export function createProbeFetch(fetch: typeof globalThis.fetch): ProbeFetch {
  return async (url, accept, body) => {
    const sent = body === undefined ? {} : { method: 'POST', body }
    const headers = { accept, ...(body === undefined ? {} : { 'content-type': activityJson }) }
    try {
      const response = await fetch(url, {
        headers,
        redirect: 'follow',
        signal: AbortSignal.timeout(timeoutMs),
        ...sent,
      })
      const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
      const json = type.includes('json') ? await readBoundedJson(response) : undefined
      if (json === undefined) await response.body?.cancel().catch(() => undefined)
      return { status: response.status, type: type.trim().toLowerCase(), headers: response.headers, json }
    } catch {
      return noResponse
    }
  }
}

async function readBoundedJson(response: Response): Promise<Fields | undefined> {
  // What an answer declares is its length before it is unpacked: every byte is counted.
  const unpacked = { headers: new Headers(), body: response.body, arrayBuffer: () => response.arrayBuffer() }
  const bytes = await readBody(unpacked, maxBytes)
  const read = bytes === undefined ? undefined : parseBoundedJson(bytes)
  return read?.ok === true ? read.value : undefined
}

/** What a server said, for people: never more than its number and its kind. */
function describeResponse({ status, type }: ProbeResponse): string {
  if (status === undefined) return 'no answer'
  const kind = type.replace(/[^a-z0-9+./-]/g, ' ').slice(0, 60)
  return kind === '' ? `status ${status}` : `status ${status}, ${kind}`
}

// The instance must be found as an account: servers that want signed requests look for the account of the signer.

const check = 'instance'

/** `actor`: of an agent; the instance is at the same host. */
export async function checkInstance(look: ProbeFetch, actor: string): Promise<Finding> {
  const { host, hostname } = new URL(actor)
  const subject = `acct:${hostname}@${hostname}`
  const found = await look(webFingerUrl(host, subject), jrdJson)
  const self = found.json === undefined ? undefined : webFingerSelfLink(found.json)
  if (found.status !== 200 || self === undefined)
    return failedCheck(
      check,
      `${subject}: ${describeResponse(found)}`,
      'answer WebFinger for it with a self link to the instance: servers in secure mode refuse what it asks',
    )
  if (String(found.json?.['subject']).toLowerCase() !== subject)
    return failedCheck(check, `${subject}: ${printableValue(found.json?.['subject'])}`, `make its subject ${subject}`)
  const { json, ...looked } = await look(self, activityJson)
  if (looked.status !== 200 || json === undefined)
    return failedCheck(
      check,
      describeResponse({ json, ...looked }),
      'show its document to every client, also without a signature',
    )
  const { id, preferredUsername, publicKey } = json
  if (id !== self || preferredUsername !== hostname)
    return failedCheck(
      check,
      printableValue(id),
      `its id must be ${printableValue(self)} and its preferredUsername ${hostname}`,
    )
  return typeof fieldsOrEmpty(publicKey)['publicKeyPem'] === 'string'
    ? passedCheck(check, `${printableValue(self)}, found as ${subject}`)
    : failedCheck(check, 'no key', 'list publicKey as one object with id, owner and publicKeyPem')
}

// What an actor's document points at must be there: inboxes that want a signature, collections, a page, NodeInfo.

export async function checkInbox(look: ProbeFetch, name: string, actor: string, address: unknown): Promise<Finding> {
  if (typeof address !== 'string' || !URL.canParse(address))
    return failedCheck(name, 'none', `list ${name} in the actor’s document`)
  if (new URL(address).origin !== new URL(actor).origin)
    return failedCheck(name, printableValue(address), 'it must be on the same origin as the actor')
  // It is not signed: an inbox that takes it takes anything.
  const looked = await look(address, activityJson, '{}')
  if (looked.status !== undefined && looked.status >= 200 && looked.status < 300)
    return failedCheck(
      name,
      `${describeResponse(looked)} for a request without a signature`,
      'it must refuse what is not signed',
    )
  const isReached = looked.status === 401 || looked.status === 403 || looked.status === 400
  const remedy = 'let the proxy pass POST on to the gateway, with the Host header as it came'
  return checkResult(
    name,
    isReached,
    isReached ? `${describeResponse(looked)}: it wants a signature` : describeResponse(looked),
    remedy,
  )
}

export async function checkCollection(look: ProbeFetch, name: string, address: unknown): Promise<Finding> {
  if (typeof address !== 'string' || !URL.canParse(address))
    return failedCheck(name, 'none', `list ${name} in the actor’s document`)
  const looked = await look(address, activityJson)
  const type = looked.json?.['type']
  const isThere = looked.status === 200 && (type === 'OrderedCollection' || type === 'Collection')
  return checkResult(
    name,
    isThere,
    isThere ? printableValue(type) : describeResponse(looked),
    'it must answer with an OrderedCollection',
  )
}

export async function checkActorPage(look: ProbeFetch, actor: string): Promise<Finding> {
  const looked = await look(actor, 'text/html')
  return checkResult(
    'page',
    looked.status === 200 && looked.type === 'text/html',
    describeResponse(looked),
    'show browsers a page there',
  )
}

export async function checkNodeInfo(look: ProbeFetch, host: string): Promise<Finding> {
  const index = await look(`https://${host}/.well-known/nodeinfo`, 'application/json')
  const links = index.json?.['links']
  const link = (Array.isArray(links) ? links : [])
    .map(fieldsOrEmpty)
    .find(({ rel }) => /nodeinfo\.diaspora\.software\/ns\/schema\/2\.[01]$/.test(String(rel)))
  const href = link?.['href']
  if (typeof href !== 'string' || !URL.canParse(href))
    return failedCheck(
      'nodeinfo',
      describeResponse(index),
      'let the proxy pass /.well-known/nodeinfo on to the gateway',
    )
  const looked = await look(href, 'application/json')
  const said = looked.json === undefined ? undefined : nodeInfoFault(looked.json)
  if (looked.status !== 200 || looked.json === undefined)
    return failedCheck('nodeinfo', describeResponse(looked), 'let the proxy pass /nodeinfo/ on')
  const name = printableValue(fieldsOrEmpty(looked.json['software'])['name'])
  return said === undefined
    ? passedCheck('nodeinfo', `${printableValue(looked.json['version'])}, ${name}`)
    : failedCheck('nodeinfo', said, 'follow the schema of NodeInfo')
}

function nodeInfoFault({ version, software, protocols }: Fields): string | undefined {
  if (version !== '2.0' && version !== '2.1') return 'its version is none'
  if (!/^[a-z0-9-]+$/.test(String(fieldsOrEmpty(software)['name']))) return 'the name of its software is none'
  return Array.isArray(protocols) && protocols.includes('activitypub') ? undefined : 'it does not speak activitypub'
}
