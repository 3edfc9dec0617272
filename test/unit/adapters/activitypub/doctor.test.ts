// `parley activitypub check`: what it says of a server that is as it should be, and of servers that are not.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { activityPubCommands } from '../../../../adapters/activitypub/doctor/commands.ts'
import type { CommandResult } from '../../../../src/contract/index.ts'
import { type TestKeys, testKeys } from './own-keys.ts'
import { demo, origin } from './render/reply-setup.ts'

type Page = { readonly status?: number; readonly type: string; readonly body: unknown; readonly vary?: string }
type Pages = Record<string, Page>

const activity = 'application/activity+json'
const schema = 'http://nodeinfo.diaspora.software/ns/schema'
const instanceAccount = '/.well-known/webfinger acct:bots.example@bots.example'
const instanceLinks = [{ rel: 'self', type: activity, href: `${origin}/ap/actor` }]
let keys: TestKeys
let pages: Pages
let base: string
const server = createServer((request, response) => {
  const page = pages[pageOf(request)] ?? { status: 404, type: 'text/plain', body: 'none' }
  response.writeHead(page.status ?? 200, {
    'content-type': page.type,
    ...(page.vary === undefined ? {} : { vary: page.vary }),
  })
  response.end(typeof page.body === 'string' ? page.body : JSON.stringify(page.body))
})

function pageOf({ method, url = '', headers }: IncomingMessage): string {
  const { pathname, searchParams } = new URL(url, origin)
  const asked = searchParams.get('resource')
  if (asked !== null) return `${pathname} ${asked}`
  return `${method === 'POST' ? 'POST ' : headers.accept === 'text/html' ? 'HTML ' : ''}${pathname}`
}

beforeAll(async () => {
  keys = await testKeys(demo)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
})
beforeEach(() => {
  pages = asItShouldBe()
})

function asItShouldBe(): Pages {
  const links = [{ rel: 'self', type: activity, href: demo }]
  const finger = { type: 'application/jrd+json', body: { subject: 'acct:demo@bots.example', links } }
  const collection = { type: activity, body: { type: 'OrderedCollection', totalItems: 0 } }
  const refused = { status: 401, type: 'text/plain', body: 'sign it' }
  const about = { version: '2.1', software: { name: 'parley', version: '1' }, protocols: ['activitypub'] }
  return {
    '/.well-known/webfinger acct:demo@bots.example': finger,
    [`/.well-known/webfinger ${demo}`]: finger,
    [instanceAccount]: {
      type: 'application/jrd+json',
      body: { subject: 'acct:bots.example@bots.example', links: instanceLinks },
    },
    '/ap/actor': { type: activity, body: instance() },
    '/ap/demo': { type: activity, vary: 'Accept', body: actor() },
    'HTML /ap/demo': { type: 'text/html', body: '<p>demo' },
    'POST /ap/demo/inbox': refused,
    'POST /ap/inbox': refused,
    '/ap/demo/outbox': collection,
    '/ap/demo/followers': collection,
    '/.well-known/nodeinfo': {
      type: 'application/json',
      body: { links: [{ rel: `${schema}/2.1`, href: `${origin}/nodeinfo/2.1` }] },
    },
    '/nodeinfo/2.1': { type: 'application/json', body: about },
  }
}

function actor() {
  return {
    id: demo,
    type: 'Service',
    preferredUsername: 'demo',
    inbox: `${demo}/inbox`,
    outbox: `${demo}/outbox`,
    followers: `${demo}/followers`,
    endpoints: { sharedInbox: `${origin}/ap/inbox` },
    publicKey: { id: keys.rsa.id, owner: demo, publicKeyPem: keys.rsa.publicPem },
    assertionMethod: [{ id: keys.ed25519.id, type: 'Multikey', publicKeyMultibase: keys.ed25519.multibase }],
  }
}

function instance() {
  const id = `${origin}/ap/actor`
  const publicKey = { id: `${id}#main-key`, owner: id, publicKeyPem: keys.rsa.publicPem }
  return { id, type: 'Application', preferredUsername: 'bots.example', inbox: `${origin}/ap/inbox`, publicKey }
}

/** The host of the handle is the server above; another one passes only WebFinger on to it. */
const hereFetch: typeof fetch = (input, init) => {
  const { pathname, search, host } = new URL(String(input))
  const isPassedOn = host === 'people.example' && pathname === '/.well-known/webfinger'
  if (host !== 'bots.example' && !isPassedOn) return Promise.reject(new TypeError('no such host'))
  return fetch(`${base}${pathname}${search}`, init)
}

async function checked(handle = '@demo@bots.example'): Promise<CommandResult> {
  const [check] = activityPubCommands.commands
  if (check === undefined || !('run' in check)) throw new Error('there is no command')
  return check.run({ handle }, { environment: {}, fetch: hereFetch, settings: async () => undefined })
}

type Check = { readonly check: string; readonly isFine: boolean }
const problemsIn = ({ value }: CommandResult) =>
  (value as { readonly checks: readonly Check[] }).checks.filter(({ isFine }) => !isFine).map(({ check }) => check)

describe('parley activitypub check', () => {
  test('finds nothing wrong where nothing is', async () => {
    for (const handle of ['@demo@bots.example', 'demo@bots.example', 'acct:demo@Bots.example']) {
      const result = await checked(handle)
      expect(problemsIn(result)).toEqual([])
      expect(result.problem).toBeUndefined()
      expect(result.value).toMatchObject({ actor: demo, isFine: true })
      expect(result.text).toContain('RSA of 2048 bits, found at its address')
    }
  })

  test('finds nothing wrong where the host of handles passes only WebFinger on', async () => {
    setFinger({ subject: 'acct:demo@people.example' })
    pages['/.well-known/webfinger acct:demo@people.example'] = pages[`/.well-known/webfinger ${demo}`] as Page
    const result = await checked('@demo@people.example')
    expect(problemsIn(result)).toEqual([])
    expect(result.value).toMatchObject({ handle: '@demo@people.example', actor: demo, isFine: true })
  })

  test.each([
    ['a handle nobody has', () => delete pages['/.well-known/webfinger acct:demo@bots.example'], ['webfinger']],
    ['a WebFinger page of the wrong type', () => setFinger({ type: 'text/html' }), ['webfinger']],
    ['a subject of somebody else', () => setFinger({ subject: 'acct:x@bots.example' }), ['subject', 'way back']],
    ['an actor that is not shown to strangers', () => setPage('/ap/demo', { status: 401 }), ['actor']],
    ['an actor under another name', () => setActor({ id: `${origin}/x` }), ['actor id']],
    ['a key that is somebody else’s', () => setActor({ publicKey: { ...actor().publicKey, owner: origin } }), ['key']],
    ['a key nobody can read', () => setActor({ publicKey: { ...actor().publicKey, publicKeyPem: 'AAAA' } }), ['key']],
    ['no key for proofs', () => setActor({ assertionMethod: [] }), ['proof key']],
    ['a cache that mixes page and document', () => setPage('/ap/demo', { vary: 'Cookie' }), ['varies']],
    ['an inbox that takes what nobody signed', () => setPage('POST /ap/demo/inbox', { status: 202 }), ['inbox']],
    ['an inbox behind a proxy that swallows it', () => setPage('POST /ap/inbox', { status: 405 }), ['shared inbox']],
    ['an inbox elsewhere', () => setActor({ inbox: 'https://other.example/inbox' }), ['inbox']],
    ['no page for browsers', () => delete pages['HTML /ap/demo'], ['page']],
    ['no facts about the server', () => delete pages['/.well-known/nodeinfo'], ['nodeinfo']],
    ['an instance without an account', () => delete pages[instanceAccount], ['instance']],
    ['an instance that is not shown to strangers', () => setPage('/ap/actor', { status: 401 }), ['instance']],
    ['an instance of two keys', () => setInstance({ publicKey: [instance().publicKey] }), ['instance']],
    ['an instance by another name', () => setInstance({ preferredUsername: 'x' }), ['instance']],
    ['followers that are none', () => setPage('/ap/demo/followers', { body: { type: 'Note' } }), ['followers']],
  ])('tells of %s', async (_what, spoil, expected) => {
    spoil()
    const result = await checked()
    expect(problemsIn(result)).toEqual(expected)
    expect(result.problem).toContain(`${expected[0]}: `)
    expect(result.text).toContain('→ ')
  })

  test('tells of a host that nobody reaches, and asks nothing else', async () => {
    const result = await checked('@demo@nowhere.example')
    expect(problemsIn(result)).toEqual(['webfinger', 'nodeinfo'])
    expect(result.text).toContain('no answer')
  })

  test('does not take what is no handle', async () => {
    for (const handle of ['', 'demo', '@demo', '@demo@bad host', '@demo@x/y', `@${'d'.repeat(100)}@bots.example`])
      await expect(checked(handle)).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('shows nothing of another server’s words but printable ones, and few', async () => {
    setActor({ type: `\u001b[31m${'x'.repeat(5000)}` })
    const { text } = await checked()
    expect(text).not.toContain('\u001b')
    expect(text.length).toBeLessThan(4000)
  })
})

function setPage(name: string, changes: Partial<Page>): void {
  const page = pages[name]
  if (page === undefined) throw new Error(`there is no page ${name}`)
  pages[name] = { ...page, ...changes }
}

function setInstance(changes: Readonly<Record<string, unknown>>): void {
  setPage('/ap/actor', { body: { ...instance(), ...changes } })
}

function setFinger({ type, subject }: { readonly type?: string; readonly subject?: string }): void {
  for (const name of Object.keys(pages).filter((each) => each.includes('webfinger') && each.includes('demo'))) {
    const body = pages[name]?.body as { readonly links: unknown }
    setPage(name, {
      ...(type === undefined ? {} : { type }),
      ...(subject === undefined ? {} : { body: { ...body, subject } }),
    })
    if (type !== undefined) return
  }
}

function setActor(changes: Readonly<Record<string, unknown>>): void {
  setPage('/ap/demo', { body: { ...actor(), ...changes } })
}
