// activitypub-express in a process of its own: a server that reads only the old signatures and answers 500 to the new ones. Somebody
// called alice is there. It prints its port; GET /told says what came into her inbox (GET /forget: nothing so far), POST /act has her do something, GET /read
// has her ask for something and says the status.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { preloadedContexts } from '@fedify/vocab-runtime'
import { memoryStore } from './apex-store.mjs'

const require = createRequire(import.meta.url)
const createApex = require('activitypub-express')
// The one it was written for, not ours.
const express = createRequire(require.resolve('activitypub-express'))('express')

const routes = {
  actor: '/u/:actor',
  object: '/o/:id',
  activity: '/s/:id',
  inbox: '/u/:actor/inbox',
  outbox: '/u/:actor/outbox',
  followers: '/u/:actor/followers',
  following: '/u/:actor/following',
  liked: '/u/:actor/liked',
  collections: '/u/:actor/c/:id',
  blocked: '/u/:actor/blocked',
  rejections: '/u/:actor/rejections',
  rejected: '/u/:actor/rejected',
  shares: '/s/:id/shares',
  likes: '/s/:id/likes',
}

const app = express()
// In its development mode it takes what nobody signed.
app.set('env', 'production')
const server = createServer(app)
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address()

const quiet = { warn: () => {}, error: () => {}, info: () => {}, log: () => {} }
const apex = createApex({
  name: 'Apex peer',
  version: '1.0.0',
  baseUrl: `http://127.0.0.1:${port}`,
  actorParam: 'actor',
  objectParam: 'id',
  activityParam: 'id',
  routes,
  store: memoryStore(preloadedContexts),
  logger: quiet,
})
// It prints what it fetches; what is printed here is for whoever started it.
console.log = () => {}

const told = []
const statuses = []
app.on('apex-inbox', ({ actor, activity, object, recipient }) => {
  const [content] = [object?.content].flat()
  const [inReplyTo] = [object?.inReplyTo].flat()
  // It writes the short name of everybody, whatever came.
  const whole = (iri) => (iri === 'as:Public' ? 'https://www.w3.org/ns/activitystreams#Public' : iri)
  const to = [object?.to ?? [], object?.cc ?? []].flat().map(whole)
  told.push({ actor: actor.id, type: activity.type, object, recipient: recipient.id, content, inReplyTo, to })
})
app.use((request, response, next) => {
  if (request.method === 'POST') response.on('finish', () => statuses.push(response.statusCode))
  next()
})
app.use(express.json({ type: [...apex.consts.jsonldTypes, 'application/json'] }), apex)
app.route(routes.inbox).get(apex.net.inbox.get).post(apex.net.inbox.post)
app.route(routes.outbox).get(apex.net.outbox.get).post(apex.net.outbox.post)
app.get(routes.actor, apex.net.actor.get)
app.get(routes.followers, apex.net.followers.get)
app.get(routes.object, apex.net.object.get)
app.get(routes.activity, apex.net.activityStream.get)
app.get('/.well-known/webfinger', apex.net.webfinger.get)
app.get('/told', (_request, response) => response.json({ told, statuses }))
app.get('/forget', (_request, response) => {
  told.length = 0
  statuses.length = 0
  response.end()
})
app.get('/read', async (request, response) => {
  // Whoever it asks as is a setting of the whole server.
  apex.systemUser = await apex.store.getObject(apex.utils.usernameToIRI('alice'), true)
  const status = await apex.requestObject(request.query.url).then(
    () => 200,
    ({ statusCode }) => statusCode ?? 0,
  )
  apex.systemUser = undefined
  response.end(String(status))
})
app.post('/act', async (request, response) => {
  const { type, object, to, cc = [], inboxes } = request.body
  const alice = await apex.store.getObject(apex.utils.usernameToIRI('alice'), true)
  const isNote = object.type === 'Note'
  const said = isNote
    ? { ...object, id: object.id ?? apex.utils.objectIdToIRI(), attributedTo: alice.id, to, cc }
    : object
  const inner = typeof said === 'string' ? said : await apex.fromJSONLD(said)
  const activity = await apex.buildActivity(type, alice.id, to, { object: inner, cc })
  const answer = { id: activity.id, object: said.id ?? said }
  // By itself it goes where it finds the readers; `inboxes`: to these, all at once.
  if (inboxes === undefined) {
    await apex.addToOutbox(alice, activity)
    return response.json({ ...answer, statuses: [] })
  }
  const body = apex.stringifyPublicJSONLD(await apex.toJSONLD(activity))
  const send = (inbox) => apex.deliver(alice.id, body, inbox, alice._meta.privateKey)
  const sent = await Promise.all(inboxes.map(send))
  response.json({ ...answer, statuses: sent.map(({ statusCode }) => statusCode) })
})

await apex.store.setup(await apex.createActor('alice', 'Alice', 'somebody'))
process.stdout.write(`port ${port}\n`)
