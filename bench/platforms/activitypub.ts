// Posts as Mastodon delivers them: somebody mentions the agent in public, 2.6 KB, signed by RSA-2048 in the form that every server
// knows (draft-cavage-http-signatures-12). Their authors live on a server of this machine that tells who they are.
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { httpRequest, scene } from './http-request.ts'

/** Where the world finds the agent; requests are made out to it, and come in by another port. */
export const activitypubAccount = { origin: 'https://agents.bench.example', agent: 'bench' } as const

export const activitypubPath = `/ap/${activitypubAccount.agent}/inbox`

const { origin: ours, agent } = activitypubAccount
const everybody = 'https://www.w3.org/ns/activitystreams#Public'
const people = 40
/** Keys take long to make: a few are shared. */
const keyPairs = 8

type Keys = { readonly privateKey: KeyObject; readonly pem: string }
type People = { readonly origin: string; readonly keys: readonly Keys[] }

let known: People | undefined
let nextId = 1

/** Started by the driver, before the first request is made. */
export async function startPeople(): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const keys = Array.from({ length: keyPairs }, () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    return { privateKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
  })
  const server = createServer((request, response) => {
    const asked = decodeURIComponent(request.url ?? '')
    const person = Number(/\bperson_(\d+)\b/.exec(asked)?.[1])
    const documentOf = asked.startsWith('/.well-known/webfinger?') ? accountDocument : personDocument
    const document = known !== undefined && person < people ? documentOf(known, person) : undefined
    const type = documentOf === accountDocument ? 'application/jrd+json' : 'application/activity+json'
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': type })
    response.end(document === undefined ? '' : JSON.stringify(document))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  known = { origin: `http://localhost:${port}`, keys }
  return {
    url: known.origin,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

export function activitypubRequests(_run: string, count: number): readonly Buffer[] {
  const at = known
  if (at === undefined) throw new Error('nobody is there who could sign; call startPeople first')
  return Array.from({ length: count }, (_, index) => {
    const body = Buffer.from(JSON.stringify(create(at, index)))
    return httpRequest(activitypubPath, signedHeaders(at, index % people, body), body)
  })
}

function personOf({ origin }: People, person: number): string {
  return `${origin}/users/person_${person}`
}

function signedHeaders(at: People, person: number, body: Buffer): Readonly<Record<string, string>> {
  const { host } = new URL(ours)
  const date = new Date().toUTCString()
  const digest = `SHA-256=${createHash('sha256').update(body).digest('base64')}`
  const type = 'application/activity+json'
  const lines = [`(request-target): post ${activitypubPath}`, `host: ${host}`, `date: ${date}`, `digest: ${digest}`]
  const key = at.keys[person % keyPairs]?.privateKey
  if (key === undefined) throw new Error('a person without a key')
  const signature = sign('sha256', Buffer.from([...lines, `content-type: ${type}`].join('\n')), key).toString('base64')
  const facts = [
    `keyId="${personOf(at, person)}#main-key"`,
    'algorithm="rsa-sha256"',
    'headers="(request-target) host date digest content-type"',
    `signature="${signature}"`,
  ]
  return { host, date, digest, 'content-type': type, signature: facts.join(',') }
}

const terms = {
  ostatus: 'http://ostatus.org#',
  atomUri: 'ostatus:atomUri',
  inReplyToAtomUri: 'ostatus:inReplyToAtomUri',
  conversation: 'ostatus:conversation',
  sensitive: 'as:sensitive',
  toot: 'http://joinmastodon.org/ns#',
  votersCount: 'toot:votersCount',
  Emoji: 'toot:Emoji',
  focalPoint: { '@container': '@list', '@id': 'toot:focalPoint' },
}

function create(at: People, index: number): object {
  const { text } = scene(index)
  const actor = personOf(at, index % people)
  const id = `${actor}/statuses/1158${String(nextId).padStart(12, '0')}`
  const conversation = `tag:127.0.0.1,2026-11-17:objectId=${nextId}:objectType=Conversation`
  nextId += 1
  const published = `${new Date().toISOString().slice(0, 19)}Z`
  const whom = `${ours}/ap/${agent}`
  const [to, cc] = [[everybody], [`${actor}/followers`, whom]]
  const link = `<a href="${ours}/@${agent}" class="u-url mention">@<span>${agent}</span></a>`
  const content = `<p><span class="h-card" translate="no">${link}</span> ${text}</p>`
  const object = {
    id,
    type: 'Note',
    summary: null,
    inReplyTo: null,
    published,
    url: id.replace('/users/', '/@'),
    attributedTo: actor,
    to,
    cc,
    sensitive: false,
    atomUri: id,
    inReplyToAtomUri: null,
    conversation,
    content,
    contentMap: { en: content },
    attachment: [],
    tag: [{ type: 'Mention', href: whom, name: `@${agent}@${new URL(ours).host}` }],
    replies: {
      id: `${id}/replies`,
      type: 'Collection',
      first: {
        type: 'CollectionPage',
        next: `${id}/replies?only_other_accounts=true&page=true`,
        partOf: `${id}/replies`,
        items: [],
      },
    },
    likes: { id: `${id}/likes`, type: 'Collection', totalItems: 0 },
    shares: { id: `${id}/shares`, type: 'Collection', totalItems: 0 },
  }
  const context = ['https://www.w3.org/ns/activitystreams', terms]
  return { '@context': context, id: `${id}/activity`, type: 'Create', actor, published, to, cc, object }
}

/** Their handle, as their server confirms it. */
function accountDocument(at: People, person: number): object {
  const subject = `acct:person_${person}@${new URL(at.origin).host}`
  return { subject, links: [{ rel: 'self', type: 'application/activity+json', href: personOf(at, person) }] }
}

function personDocument(at: People, person: number): object {
  const id = personOf(at, person)
  const publicKeyPem = at.keys[person % keyPairs]?.pem
  return {
    '@context': ['https://www.w3.org/ns/activitystreams', 'https://w3id.org/security/v1'],
    id,
    type: 'Person',
    preferredUsername: `person_${person}`,
    name: `Person ${person}`,
    url: id,
    inbox: `${id}/inbox`,
    outbox: `${id}/outbox`,
    followers: `${id}/followers`,
    following: `${id}/following`,
    endpoints: { sharedInbox: `${at.origin}/inbox` },
    publicKey: { id: `${id}#main-key`, owner: id, publicKeyPem },
  }
}
