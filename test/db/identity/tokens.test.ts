// Tokens that operators make: shown once, kept as hashes, revoked for everybody at once.
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { createTokenStore, tokenPrefix } from '../../../src/db/tokens.ts'
import { authenticateToken, createToken, findToken, parseBearerHeader } from '../../../src/identity/tokens.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import { madeToken, plainTerms, tokenDeps } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const everything = nameStatement('test_tokens', 'select row_to_json(t)::text as line from tokens t')
const age = (minutes: number) =>
  nameStatement('test_age', `update tokens set last_used_at = now() - interval '${minutes} minutes'`)
const outlive = nameStatement('test_outlive', `update tokens set expires_at = now() - interval '1 second'`)
const twin = nameStatement(
  'test_twin',
  `insert into tokens (tenant, id, hash, label, scopes)
   select tenant, ('01900000-0000-7000-8000-aaaa' || right(id::text, 8))::uuid, 'another', 'twin', scopes from tokens`,
)

describeOnDatabase('a token', (database) => {
  const deps = () => tokenDeps(database())
  const made = (expiresInMs: number | null = null) => madeToken(database(), { label: 'backup', expiresInMs })

  test('opens what its scopes say, and is stored as a hash only', async () => {
    const { clear, line } = await made()
    expect(clear).toMatch(/^parley_[0-9a-f]{8}_[\w-]{43}$/)
    expect(clear.startsWith(`${line.prefix}_`)).toBe(true)
    expect(line).toMatchObject({
      label: 'backup',
      scopes: ['admin'],
      state: 'active',
      lastUsedAt: null,
      expiresAt: null,
    })
    expect((await authenticateToken(deps(), clear))?.scopes).toEqual(['admin'])
    const [row] = await database().query<{ line: string }>(everything, [])
    expect(row?.line).toContain(await sha256Hex(clear))
    expect(row?.line).not.toContain(clear.slice(line.prefix.length + 1))
  })

  test('keeps all its terms, for its holder and for the list', async () => {
    const terms = {
      label: 'shop',
      scopes: ['run', 'own'] as const,
      principal: 'space:T1/U2',
      agent: 'demo',
      workspace: { workspace_type: 'team', workspace_id: 'T1' },
      allowedCapabilities: ['read_orders', 'publish'],
      clientId: 'shop app',
    }
    const { clear, line } = await madeToken(database(), { ...terms, createdBy: 'operator:ada' })
    expect(line).toMatchObject({ ...terms, createdBy: 'operator:ada' })
    expect(await findToken(deps(), clear)).toEqual({ ...terms, id: line.id, isUseDue: true })
    expect(await deps().tokens.list()).toEqual([line])
  })

  test.each([
    ['another of the same shape', (clear: string) => `${clear.slice(0, -1)}${clear.endsWith('A') ? 'B' : 'A'}`],
    ['its prefix', (clear: string) => clear.slice(0, 15)],
    ['its hash', (clear: string) => sha256Hex(clear)],
    ['nothing', () => ''],
  ])('%s opens nothing', async (_name, change) => {
    const { clear } = await made()
    expect(await authenticateToken(deps(), await change(clear))).toBeUndefined()
  })

  test('is unknown to another tenant: not found, not listed, not revoked', async () => {
    const { clear, line } = await made()
    const other = tokenDeps(database(), 'other')
    expect(await authenticateToken(other, clear)).toBeUndefined()
    expect(await other.tokens.list()).toEqual([])
    expect(await other.tokens.revoke(line.id)).toEqual({ kind: 'none' })
    await other.tokens.touch(line.id)
    expect(await deps().tokens.list()).toMatchObject([{ state: 'active', lastUsedAt: null }])
  })

  test('opens nothing once it has expired, and the list says so', async () => {
    const { clear } = await made(60_000)
    expect((await authenticateToken(deps(), clear))?.scopes).toEqual(['admin'])
    await database().query(outlive, [])
    expect(await authenticateToken(deps(), clear)).toBeUndefined()
    expect(await deps().tokens.list()).toMatchObject([{ state: 'expired' }])
  })

  test('is revoked by id or by prefix, once, and from the next look on everywhere', async () => {
    const [one, other] = [await made(), await made()]
    const elsewhere = tokenDeps(database())
    expect(await deps().tokens.revoke(one.line.id)).toEqual({ kind: 'revoked' })
    expect(await authenticateToken(elsewhere, one.clear)).toBeUndefined()
    expect((await authenticateToken(elsewhere, other.clear))?.scopes).toEqual(['admin'])
    expect(await deps().tokens.revoke(other.line.id.slice(-8))).toEqual({ kind: 'revoked' })
    expect(await deps().tokens.revoke(other.line.id)).toEqual({ kind: 'none' })
    expect((await deps().tokens.list()).map((line) => line.state)).toEqual(['revoked', 'revoked'])
  })

  test('is not revoked by a prefix that two share, as rows of an older release may', async () => {
    const { line } = await made()
    await database().query(twin, [])
    expect(await deps().tokens.revoke(line.id.slice(-8))).toEqual({ kind: 'ambiguous' })
    expect((await deps().tokens.list()).map((each) => each.state)).toEqual(['active', 'active'])
  })

  test('never gets the digits of another one, not even of one that was revoked', async () => {
    const ids = ['01900000-0000-7000-8000-000011112222', '01900000-0000-7000-8000-aaaa11112222']
    const fresh = '01900000-0000-7000-8000-000033334444'
    const queue = [...ids, fresh]
    const scripted = { ...deps(), newId: () => queue.shift() ?? '' }
    const first = await createToken(scripted, plainTerms)
    await deps().tokens.revoke(first.line.id)
    expect((await createToken(scripted, plainTerms)).line).toMatchObject({ id: fresh, prefix: tokenPrefix(fresh) })
    await expect(createToken({ ...deps(), newId: () => ids[1] ?? '' }, plainTerms)).rejects.toThrow('no free digits')
    expect(await createTokenStore(database(), 'other').add({ ...plainTerms, id: fresh, hash: 'h' })).toBeDefined()
  })

  test('remembers its last use coarsely, not with every request', async () => {
    const { clear } = await made()
    const lastUse = async () => {
      await authenticateToken(deps(), clear)
      return String((await deps().tokens.list())[0]?.lastUsedAt)
    }
    const first = await lastUse()
    expect(first).not.toBe('null')
    await database().query(age(3), [])
    const soon = String((await deps().tokens.list())[0]?.lastUsedAt)
    expect(await lastUse()).toBe(soon)
    await database().query(age(6), [])
    expect(Date.parse(await lastUse())).toBeGreaterThanOrEqual(Date.parse(first) - 1000)
  })
})

test.each<[string | undefined, string | undefined]>([
  ['Bearer abc', 'abc'],
  ['bearer  abc', 'abc'],
  [undefined, undefined],
  ['', undefined],
  ['Bearer', undefined],
  ['Bearer ', undefined],
  ['abc', undefined],
  ['Basic abc', undefined],
  ['Bearer a b', undefined],
  ['Bearer abc, Bearer abc', undefined],
  ['xBearer abc', undefined],
  [`Bearer ${'a'.repeat(10_000)}`, undefined],
])('the header %j carries %j', (authorization, token) => {
  expect(parseBearerHeader(authorization)).toBe(token)
})
