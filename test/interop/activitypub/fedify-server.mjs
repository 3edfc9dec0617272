// A plain Fedify server in a process of its own: it reads both forms of signatures and proofs inside activities. Somebody called bob
// is there. It prints its port; GET /told says what came into the inboxes, POST /act has him do something, GET /read has him ask for
// something and says the status.
import { createServer } from 'node:http'
import { createFederation, generateCryptoKeyPair, MemoryKvStore, signRequest } from '@fedify/fedify'
import { Accept, Activity, Create, Delete, Endpoints, Person, Tombstone, Update } from '@fedify/vocab'

const told = []
const statuses = []
const keys = [await generateCryptoKeyPair('RSASSA-PKCS1-v1_5'), await generateCryptoKeyPair('Ed25519')]
const federation = createFederation({ kv: new MemoryKvStore(), allowPrivateAddress: true })

federation
  .setActorDispatcher('/users/{identifier}', async (context, identifier) => {
    if (identifier !== 'bob') return null
    const [first, second] = await context.getActorKeyPairs(identifier)
    return new Person({
      id: context.getActorUri(identifier),
      preferredUsername: identifier,
      name: 'Bob',
      inbox: context.getInboxUri(identifier),
      endpoints: new Endpoints({ sharedInbox: context.getInboxUri() }),
      publicKey: first.cryptographicKey,
      assertionMethods: [first.multikey, second.multikey],
    })
  })
  .setKeyPairsDispatcher(async (_context, identifier) => (identifier === 'bob' ? keys : []))

federation
  .setInboxListeners('/users/{identifier}/inbox', '/inbox')
  .on(Accept, (_context, accept) => tell('Accept', accept, null))
  .on(Create, async (_context, create) => tell('Create', create, await create.getObject()))
  .on(Update, async (_context, update) => tell('Update', update, await update.getObject()))
  .on(Delete, async (_context, activity) => tell('Delete', activity, await activity.getObject()))

async function tell(type, activity, object) {
  const tags = []
  if (object !== null) for await (const tag of object.getTags()) tags.push(tag.href?.href)
  told.push({
    type,
    id: activity.id?.href,
    actor: activity.actorId?.href,
    object: object?.id?.href,
    tags,
    content: object?.content?.toString(),
    inReplyTo: object?.replyTargetId?.href,
    to: [object?.toIds ?? [], object?.ccIds ?? []].flat().map(({ href }) => href),
    isTombstone: object instanceof Tombstone,
  })
}

async function act(origin, { type, object, to, cc = [], inboxes }) {
  const context = federation.createContext(new URL(origin), undefined)
  const actor = context.getActorUri('bob').href
  const id = `${origin}/did/${crypto.randomUUID()}`
  const isNote = object.type === 'Note'
  const said = isNote ? { id: `${id}/note`, attributedTo: actor, to, cc, ...object } : object
  const json = { '@context': 'https://www.w3.org/ns/activitystreams', id, type, actor, to, cc, object: said }
  const activity = await Activity.fromJsonLd(json, context)
  const readers = await Promise.all([...to, ...cc].map((iri) => context.lookupObject(iri).catch(() => null)))
  const found = readers.filter((each) => each?.inboxId)
  const named = inboxes?.map((inbox) => ({ id: found[0].id, inboxId: new URL(inbox) }))
  const statuses = await Promise.all(
    (named ?? found).map((reader) =>
      context.sendActivity({ identifier: 'bob' }, reader, activity).then(
        () => 202,
        ({ statusCode }) => statusCode ?? 0,
      ),
    ),
  )
  return { id, object: said.id ?? said, statuses }
}

async function read(origin, asked) {
  const url = new URL(asked, origin).searchParams.get('url')
  const question = new Request(url, { headers: { accept: 'application/activity+json' } })
  const keyId = new URL(`${origin}/users/bob#main-key`)
  return (await fetch(await signRequest(question, keys[0].privateKey, keyId, { spec: 'rfc9421' }))).status
}

const answerTo = async (request, response) => {
  if (request.url === '/told') {
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({ told, statuses }))
  }
  if (request.url === '/forget') {
    told.length = 0
    statuses.length = 0
    return response.end()
  }
  if (request.url.startsWith('/read?'))
    return response.end(String(await read(`http://${request.headers.host}`, request.url)))
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = chunks.length === 0 ? undefined : Buffer.concat(chunks)
  const origin = `http://${request.headers.host}`
  const url = `${origin}${request.url}`
  if (request.url === '/act') {
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify(await act(origin, JSON.parse(body.toString()))))
  }
  const answer = await federation.fetch(
    new Request(url, { method: request.method, headers: request.headers, body }),
    {},
  )
  if (request.method === 'POST') statuses.push(answer.status)
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(Buffer.from(await answer.arrayBuffer()))
}
const server = createServer((request, response) => void answerTo(request, response))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
process.stdout.write(`port ${server.address().port}\n`)
