// Sessions and whose they are, on the store, the routes and the lanes that stand for a lock.
import { createHash } from 'node:crypto'
import { createApp } from '../../../src/api/app.ts'
import type { AppDeps } from '../../../src/api/deps.ts'
import { noMeter } from '../../../src/contract/metrics.ts'
import { readWorkspaceScope, workspaceKey } from '../../../src/contract/workspace-scope.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { deleteSession, findSession, listSessions, readTranscript } from '../../../src/db/sessions.ts'
import { createTokenStore } from '../../../src/db/tokens.ts'
import { claimTurns, openTurn, releaseLane, renewLanes } from '../../../src/db/turns.ts'
import { createRejectionLog } from '../../../src/identity/rejected-requests.ts'
import { secret } from '../../../src/lib/secret.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { hold, moveSession, newTurn, talk } from '../../doubles/stored-sessions.ts'
import { plainTerms } from '../../doubles/tokens.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'
import { type Case, refusal } from '../conform.ts'

const operator = 'operator-token-of-the-test-0000'
const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")
const page = { limit: 50, before: null, agent: null } as const
const alice = { subject: 'test:alice', conversation: 'c-alice' }
const bob = { subject: 'test:bob', conversation: 'c-bob' }

type Answer = { readonly status: number; readonly code: unknown; readonly body: Record<string, unknown> }

/** The routes, asked with a token that belongs to this principal; without one: an operator's. */
async function asking(database: Database, principal?: string) {
  const tokens = createTokenStore(database, 'default')
  const clear = `parley_00000000_${(principal ?? '').replace(/\W/g, '').padEnd(43, 'x')}`
  const hash = createHash('sha256').update(clear).digest('hex')
  if (principal !== undefined) {
    const id = `01900000-0000-7000-8000-${hash.slice(0, 12)}`
    await tokens.add({ ...plainTerms, id, hash, label: 'own', scopes: ['own'], principal })
  }
  // Only what these routes use: the rest of the surface is not asked.
  const app = createApp({
    gateway: { connections: [] },
    db: openTenantDb(database, 'default'),
    tokens,
    rejections: createRejectionLog(),
    meter: noMeter,
    newTrace: () => '00',
    adminToken: secret(operator),
    sourceOf: () => 'local',
    now: Date.now,
    log: { info() {}, warn() {}, error() {} },
  } as unknown as AppDeps)
  const authorization = `Bearer ${principal === undefined ? operator : clear}`
  return async (method: string, path: string, body?: object): Promise<Answer> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await app.request(path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...sent,
    })
    const answer = await response.json()
    return { status: response.status, code: answer.error?.code, body: answer }
  }
}

const texts = (messages: unknown) => (messages as readonly { content: unknown }[]).map(({ content }) => content)

export function sessionCases(database: () => Database): readonly Case[] {
  const store = () => openTenantDb(database(), 'default')
  const lane = (holder: string) => openTenantDb(database(), { holder, leaseMs: 60_000, tenant: 'default' })
  return [
    {
      id: 'S-01',
      claim: 'a session belongs to whose message began it, and what comes later is added to it, never put in its place',
      differs: 'agents-api overwrites the transcript',
      run: async () => {
        const id = await talk(database(), { ...alice, text: 'one' })
        await talk(database(), { ...alice, text: 'two' })
        const lines = await readTranscript(store(), id, 50, null)
        const session = await findSession(store(), {}, id)
        return { owner: session?.owner, lines: session?.lines, texts: texts(lines.map(({ envelope }) => envelope)) }
      },
      equals: { owner: 'test:alice', lines: 4, texts: ['one', 'you said one', 'two', 'you said two'] },
    },
    {
      id: 'S-02',
      claim: "an owner reads what is theirs, and of another's nothing",
      run: async () => {
        const own = await talk(database(), { ...alice, text: 'one' })
        const foreign = await talk(database(), { ...bob, text: 'two' })
        const owner = { owner: 'test:alice' }
        const listed = await listSessions(store(), owner, page)
        const found = [await findSession(store(), owner, own), await findSession(store(), owner, foreign)]
        return {
          listed: listed.map(({ id }) => id === own),
          found: found.map((session) => session !== undefined),
          all: (await listSessions(store(), {}, page)).length,
        }
      },
      equals: { listed: [true], found: [true, false], all: 2 },
    },
    {
      id: 'S-03',
      claim: 'deleting twice is deleting once; what was said is gone and the next message begins anew',
      run: async () => {
        const id = await talk(database(), { ...alice, text: 'secret plan' })
        const deleted = [
          await deleteSession(store(), {}, id, 'operator:test'),
          await deleteSession(store(), {}, id, 'operator:test'),
        ]
        const [row] = await database().query<{ said: string }>(
          nameStatement(
            'test_said',
            'select coalesce(string_agg(m.envelope::text, $1), $1) || coalesce((select string_agg(i.message::text, $1) from inbox i), $1) as said from messages m',
          ),
          [''],
        )
        const next = await talk(database(), { ...alice, text: 'hello again' })
        return {
          deleted,
          isGone: (await findSession(store(), {}, id)) === undefined,
          isKept: row?.said.includes('secret plan'),
          isNew: next !== id,
        }
      },
      equals: { deleted: ['deleted', 'deleted'], isGone: true, isKept: false, isNew: true },
    },
    {
      id: 'S-04',
      claim: 'whoever names another owner is refused everywhere, and nothing of the other changes',
      run: async () => {
        const victim = await talk(database(), { ...bob, text: 'mine' })
        const ask = await asking(database(), 'test:alice')
        const forged = `owner=${encodeURIComponent('test:bob')}`
        const answers = [
          await ask('GET', `/admin/sessions?${forged}`),
          await ask('GET', `/admin/sessions/${victim}?${forged}`),
          await ask('POST', `/admin/sessions/${victim}/title?${forged}`, { title: 'stolen' }),
          await ask('DELETE', `/admin/sessions/${victim}?${forged}`),
        ]
        const after = await findSession(store(), {}, victim)
        return { codes: answers.map(({ status, code }) => [status, code]), title: after?.title, status: after?.status }
      },
      equals: { codes: Array.from({ length: 4 }, () => [403, 'forbidden']), title: null, status: 'open' },
    },
    {
      id: 'S-04b',
      claim: 'naming oneself is no forgery, and a token of that kind opens nothing else',
      run: async () => {
        await talk(database(), { ...alice, text: 'one' })
        const ask = await asking(database(), 'test:alice')
        const { body } = await ask('GET', `/admin/sessions?owner=${encodeURIComponent('test:alice')}`)
        const { status, code } = await ask('GET', '/admin/tokens')
        return { own: (body['sessions'] as readonly unknown[]).length, elsewhere: [status, code] }
      },
      equals: { own: 1, elsewhere: [403, 'forbidden'] },
    },
    {
      id: 'S-05',
      claim: "the same owner's session in another workspace is not there for this token, and stays as it is",
      differs: 'routes are scoped to the owner of the token',
      run: async () => {
        const id = await talk(database(), { ...alice, text: 'one' })
        await moveSession(database(), id, 'slack_team', 'T1')
        const ask = await asking(database(), 'test:alice')
        const answers = [
          await ask('GET', `/admin/sessions/${id}`),
          await ask('POST', `/admin/sessions/${id}/title`, { title: 'x' }),
          await ask('DELETE', `/admin/sessions/${id}`),
        ]
        const after = await findSession(store(), { owner: 'test:alice' }, id)
        return { codes: answers.map(({ status, code }) => [status, code]), title: after?.title, lines: after?.lines }
      },
      equals: { codes: Array.from({ length: 3 }, () => [404, 'not_found']), title: null, lines: 2 },
    },
    {
      id: 'S-06',
      claim:
        'a session nobody was authenticated for is nobody’s: no owner sees it, and an owner without a name is none',
      differs: 'routes are scoped to the owner of the token',
      run: async () => {
        const id = await talk(database(), { subject: null, conversation: 'c-nobody', text: 'who am I?' })
        const asOwner = await asking(database(), 'test:alice')
        const asOperator = await asking(database())
        const made = await asOperator('POST', '/admin/tokens', { label: 'nobody', principal: '  ' })
        return {
          owner: (await findSession(store(), {}, id))?.owner,
          asOwner: (await asOwner('GET', `/admin/sessions/${id}`)).status,
          asOperator: (await asOperator('GET', `/admin/sessions/${id}`)).status,
          made: [made.status, made.code],
        }
      },
      equals: { owner: null, asOwner: 404, asOperator: 200, made: [400, 'bad_request'] },
    },
    {
      id: 'S-07',
      claim: 'a foreign session and one that never was answer alike',
      run: async () => {
        const foreign = await talk(database(), { ...bob, text: 'mine' })
        const ask = await asking(database(), 'test:alice')
        const never = '01900000-0000-7000-8000-000000000000'
        const answers = [foreign, never].map(async (id) => [
          await ask('GET', `/admin/sessions/${id}`),
          await ask('DELETE', `/admin/sessions/${id}`),
        ])
        const [one, other] = await Promise.all(answers)
        return { isSame: JSON.stringify(one) === JSON.stringify(other), status: one?.map(({ status }) => status) }
      },
      equals: { isSame: true, status: [404, 404] },
    },
    {
      id: 'S-07b',
      claim: 'a transcript is shown without the names and proofs of who spoke',
      run: async () => {
        const id = await talk(database(), { ...alice, text: 'one' })
        const ask = await asking(database(), 'test:alice')
        const { body } = await ask('GET', `/admin/sessions/${id}`)
        return { texts: texts(body['messages']), leaks: JSON.stringify(body).includes('Canary'), next: body['next'] }
      },
      equals: { texts: ['one', 'you said one'], leaks: false, next: null },
    },
    {
      id: 'S-08',
      claim: 'a held lane is not given twice; an expired one is, and its first holder can neither renew nor free it',
      differs: 'lanes have a lease and an epoch instead of a lock',
      run: async () => {
        const first = await hold(database(), alice)
        const second = await claimTurns(lane('b'), 10)
        const byWrongHolder = await releaseLane(lane('b'), first, 0, 'untouched')
        await database().query(expire, [])
        const [next] = await claimTurns(lane('b'), 10)
        if (next === undefined) throw new Error('nothing to claim')
        const stale = {
          renewed: (await renewLanes(lane('test'), [first])).size,
          released: await releaseLane(lane('test'), first, 0, 'untouched'),
          opened: await openTurn(lane('test'), first, newTurn(first, 'test:alice'), []),
        }
        return { second: second.length, byWrongHolder, stale, next: (await renewLanes(lane('b'), [next])).size }
      },
      equals: {
        second: 0,
        byWrongHolder: false,
        stale: { renewed: 0, released: false, opened: false },
        next: 1,
      },
    },
    {
      id: 'L-17',
      claim: 'a lease that ran out and was taken again is released by its new holder alone',
      differs: 'lanes have a lease and an epoch instead of a lock',
      run: async () => {
        const first = await hold(database(), alice)
        await database().query(expire, [])
        const [next] = await claimTurns(lane('b'), 1)
        if (next === undefined) throw new Error('nothing to claim')
        return [
          await releaseLane(lane('test'), first, 0, 'untouched'),
          await releaseLane(lane('b'), next, 0, 'untouched'),
        ]
      },
      equals: [false, true],
    },
    {
      id: 'S-09',
      claim:
        'a message sent twice in a hurry is one message and one session: its key settles it, not a look at the clock',
      differs: 'idempotency of agents-api is not atomic',
      run: async () => {
        const inbox = openTenantDb(database())
        const draft = () => aDraft({ messageId: 'twice', candidates: ['c-twice'], content: 'same' })
        const outcomes = [...(await storeInboxDrafts(inbox, [draft()])), ...(await storeInboxDrafts(inbox, [draft()]))]
        const sessions = await listSessions(store(), {}, page)
        return { outcomes: outcomes.map(({ kind }) => kind), sessions: sessions.length }
      },
      equals: { outcomes: ['accepted', 'duplicate'], sessions: 0 },
    },
    {
      id: 'S-09b',
      claim: 'a session is not deleted under a turn that runs in it',
      run: async () => {
        const id = await talk(database(), { ...alice, text: 'one' })
        const held = await hold(database(), alice)
        const whileHeld = await deleteSession(store(), {}, id, 'operator:test')
        await openTurn(lane('test'), held, newTurn(held, 'test:alice'), [])
        return [
          whileHeld,
          await deleteSession(store(), {}, id, 'operator:test'),
          (await findSession(store(), {}, id))?.lines,
        ]
      },
      equals: ['busy', 'busy', 2],
    },
    {
      id: 'S-10',
      claim: 'a workspace has a type in lower case and an id of its own',
      run: () => workspaceKey(readWorkspaceScope({ workspace_type: 'Code_Workspace', workspace_id: '  Site 7 ' })),
      equals: 'code_workspace:Site 7',
    },
    ...(
      [
        ['a type that is no word', { workspace_type: '7-eleven', workspace_id: 'x' }, 'workspace_type must be a word'],
        ['a blank id', { workspace_type: 'site', workspace_id: ' ' }, 'workspace_id must be a non-empty string'],
      ] as const
    ).map(([what, scope, reason]) => ({
      id: 'S-10',
      claim: `a workspace with ${what} is refused`,
      run: async () =>
        (await refusal(() => readWorkspaceScope(scope))).startsWith(`invalid_workspace_scope: ${reason}`),
      equals: true,
    })),
  ]
}
