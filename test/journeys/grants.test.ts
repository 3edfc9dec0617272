// What an operator wrote down about people counts at the next decision, wherever it is made; and who is who.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import type { AccessRule } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { addGrant, listGrants, type NewGrant, revokeGrant } from '../../src/db/grants.ts'
import { linkIdentity, listPrincipals, unlinkIdentity } from '../../src/db/principals.ts'
import { type AtWork, createDoor, putToWork, until } from '../doubles/background-gateway.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { callOfSlowTool, slowTool } from '../doubles/slow-tool.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const owners = nameStatement(
  'test_owners',
  `select r.owner as run, s.owner as session from runs r join sessions s on s.id = r.session_id order by r.created_at`,
)
const here = 'loopback-client-id/loopback-client-id'

describeOnDatabase('a grant', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateways: TestGateway[]
  let work: AtWork[]
  let door = createDoor()
  const acted: string[] = []
  const start = (access: AccessRule, busy: ModelAgentDefinition['busy'] = 'queue') => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', model, tools: [slowTool(acted, () => door)], busy })],
      connections: loopbackConnections(vendor.origin, { access }),
      turns: { leaseMs: 15_000 },
    })
    gateways.push(gateway)
    work.push(putToWork(gateway))
    return gateway
  }
  const add = (changes: Partial<NewGrant>) =>
    addGrant(openTenantDb(database()), {
      subject: 'loopback:eve',
      effect: 'allow',
      role: null,
      connection: null,
      agent: null,
      workspaceId: null,
      expiresInMs: null,
      createdBy: 'operator:test',
      ...changes,
    })
  const say = (gateway: TestGateway, id: string, text: string, more: Partial<LoopbackEvent> = {}) =>
    gateway.deliver({ id, from: 'eve', text, ...more })
  const pair = (gateway: TestGateway, id: string, from: string, code: string) =>
    say(gateway, id, `/pair ${code}`, { from, conversation: from, command: { name: 'pair', args: code } })
  const texts = () => vendor.messages.map((message) => message.text)
  const told = (text: string) => until(() => texts().some((each) => each.includes(text)))
  const fate = async () => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    return Object.fromEntries(
      rows.map(({ id, state, reason }) => [id, reason === null ? state : `${state}(${reason})`]),
    )
  }
  const settled = (id: string) => until(async () => /answered|merged|refused|held/.test((await fate())[id] ?? ''))

  beforeEach(async () => {
    acted.length = 0
    door = createDoor()
    gateways = []
    work = []
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    door.open()
    await Promise.all(work.map((each) => each.stop()))
    for (const gateway of gateways) gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('lets in and, once revoked, no more: at the next message, in the replica that did not hear of it', async () => {
    const first = start({ mode: 'allow_list', allow: [] })
    const second = start({ mode: 'allow_list', allow: [] })
    server.script({ text: 'One.' })
    await say(second, 'm0', 'zero')
    await settled('m0')
    const added = await add({})
    await say(second, 'm1', 'one')
    await told('One.')
    await settled('m1')
    expect(await revokeGrant(first.deps.db, added?.grant.id ?? '', 'operator:test')).toMatchObject({
      kind: 'revoked',
    })
    await say(second, 'm2', 'two')
    await say(first, 'm3', 'three')
    await settled('m3')
    expect(await fate()).toEqual({
      m0: 'refused(not_on_allow_list)',
      m1: 'answered',
      m2: 'refused(not_on_allow_list)',
      m3: 'refused(not_on_allow_list)',
    })
    expect(await revokeGrant(first.deps.db, added?.grant.id ?? '', 'operator:late')).toMatchObject({
      kind: 'late',
      grant: { revokedBy: 'operator:test' },
    })
  })

  test('that is revoked while its holder is being answered keeps their next words out of the run', async () => {
    const gateway = start({ mode: 'allow_list', allow: [] }, 'steer')
    server.script({ calls: [callOfSlowTool('1')] }, { text: 'For the first.' })
    const added = await add({})
    await say(gateway, 'm1', 'one')
    await until(() => acted.length === 1)
    await revokeGrant(gateway.deps.db, added?.grant.id ?? '', 'operator:test')
    await say(gateway, 'm2', 'and delete everything')
    door.open()
    await told('For the first.')
    await settled('m1')
    await settled('m2')
    expect(await fate()).toEqual({ m1: 'answered', m2: 'refused(not_on_allow_list)' })
    expect(JSON.stringify(server.requests)).not.toContain('delete everything')
  })

  test.each([
    ['for another connection', { connection: 'loopback-none/loopback-none' }],
    ['for another agent', { agent: 'other' }],
    ['for another workspace', { workspaceId: 'elsewhere' }],
    ['to look', { role: 'viewer' }],
    ['that has expired', { expiresInMs: 1 }],
    ['about somebody else', { subject: 'loopback:ev' }],
  ] satisfies [string, Partial<NewGrant>][])('%s lets nobody in here', async (_what, changes) => {
    const gateway = start({ mode: 'allow_list', allow: [] })
    await add(changes)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await say(gateway, 'm1', 'one')
    await settled('m1')
    expect(await fate()).toEqual({ m1: 'refused(not_on_allow_list)' })
  })

  test('that blocks wins over everything that lets in', async () => {
    const gateway = start({ mode: 'public', allow: ['loopback:eve'] })
    await add({ role: 'admin' })
    await add({ effect: 'deny', connection: here })
    await say(gateway, 'm1', 'one')
    await settled('m1')
    expect(await fate()).toEqual({ m1: 'refused(blocked)' })
  })

  test('as admin lets strangers in by /pair; nobody else learns whether a code exists', async () => {
    const gateway = start({ mode: 'pairing', allow: ['loopback:mallory'] })
    server.script({ text: 'Hello Eve.' })
    await add({ subject: 'loopback:ada', role: 'admin', agent: 'demo' })
    await add({ subject: 'loopback:oli', role: 'operator' })
    await say(gateway, 'm1', 'hello')
    await told("I can't chat with you yet")
    const code = /this code: (\S+)/.exec(texts()[0] ?? '')?.[1] ?? ''
    for (const [index, from] of ['mallory', 'oli'].entries()) {
      await pair(gateway, `p${index}a`, from, code)
      await pair(gateway, `p${index}b`, from, 'ZZZZ-ZZZZ')
    }
    await until(() => texts().filter((text) => text === 'Only my admins can let people in.').length === 4)
    expect((await fate())['m1']).toBe('held(pairing_required)')
    await pair(gateway, 'a1', 'ada', 'ZZZZ-ZZZZ')
    await told('No one is waiting with the code ZZZZ-ZZZZ')
    await pair(gateway, 'a2', 'ada', code.toLowerCase().replace('-', ''))
    await told('Let in: loopback:eve')
    await told('Hello Eve.')
    const found = await listGrants(gateway.deps.db, {
      subject: 'loopback:eve',
      isEverything: false,
      limit: 9,
      before: null,
    })
    // No further than the admin's own grant reaches.
    expect(found).toMatchObject([{ connection: here, agent: 'demo', createdBy: 'loopback:ada', source: 'pairing' }])
  })

  test('of a person counts for every account that is linked to them, and makes runs and sessions theirs', async () => {
    const gateway = start({ mode: 'allow_list', allow: [] })
    server.script({ text: 'First.' }, { text: 'Second.' })
    await add({ subject: 'person:eve' })
    const { db } = gateway.deps
    await linkIdentity(db, 'loopback:eve', 'person:eve', 'operator:test')
    expect(await linkIdentity(db, 'loopback:eve', 'person:bob', 'operator:test')).toMatchObject({
      kind: 'linked_already',
    })
    expect(await linkIdentity(db, 'person:eve', 'person:bob', 'operator:test')).toEqual({ kind: 'chain' })
    expect(await linkIdentity(db, 'loopback:x', 'loopback:eve', 'operator:test')).toEqual({ kind: 'chain' })
    await say(gateway, 'm1', 'one')
    await told('First.')
    expect(await database().query(owners, [])).toEqual([{ run: 'person:eve', session: 'person:eve' }])
    const [person] = (await listPrincipals(db, { limit: 9, before: null })).filter(
      ({ linkedFrom }) => linkedFrom.length > 0,
    )
    expect(person).toMatchObject({ subject: 'person:eve', linkedFrom: ['loopback:eve'], grants: [{ effect: 'allow' }] })
    expect(await unlinkIdentity(db, 'loopback:eve', 'operator:test')).toBe(true)
    expect(await unlinkIdentity(db, 'loopback:eve', 'operator:test')).toBe(false)
    await say(gateway, 'm2', 'two')
    await settled('m2')
    expect((await fate())['m2']).toBe('refused(not_on_allow_list)')
  })

  test('and a link let nobody into a thread that another account of the same person opened', async () => {
    const gateway = start({ mode: 'public', allow: [] })
    server.script({ text: 'For Ada.' }, { text: 'For the other.' })
    await linkIdentity(gateway.deps.db, 'loopback:eve', 'loopback:ada', 'operator:test')
    await say(gateway, 'm1', 'my secret', { from: 'ada', conversation: 'private', claims: ['private'] })
    await told('For Ada.')
    await say(gateway, 'm2', 'what did I say?', { conversation: 'private', claims: ['private'] })
    await told('For the other.')
    expect(JSON.stringify(server.requests[1])).not.toContain('my secret')
    expect(await database().query(owners, [])).toEqual([
      { run: 'loopback:ada', session: 'loopback:ada' },
      { run: 'loopback:ada', session: 'loopback:ada' },
    ])
  })
})
