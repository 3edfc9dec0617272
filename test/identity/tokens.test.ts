// Tokens that operators make: shown once, kept as hashes, revoked for everybody at once.
import { expect, test } from 'vitest'
import { createIdSource } from '../../src/contract/index.ts'
import { createToken, tokenHolder, tokenPrefix } from '../../src/identity/tokens.ts'
import { statement } from '../../src/storage/database.ts'
import { createTokenStore } from '../../src/storage/token-store.ts'
import { hexOf } from '../../src/verification/index.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

const everything = statement('test_tokens', 'select row_to_json(t)::text as line from tokens t')
const age = (minutes: number) =>
  statement('test_age', `update tokens set last_used_at = now() - interval '${minutes} minutes'`)
const outlive = statement('test_outlive', `update tokens set expires_at = now() - interval '1 second'`)

describeOnEachDatabase('a token', (database) => {
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
  const hash = async (text: string) =>
    hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
  const deps = () => ({
    tokens: createTokenStore(database()),
    newId: createIdSource(Date.now, fillRandom),
    fillRandom,
    hash,
  })
  const made = async (expiresInMs: number | null = null) => {
    const { token, line } = await createToken(deps(), {
      label: 'backup',
      scopes: ['admin'],
      principal: null,
      expiresInMs,
    })
    return { clear: token.reveal(), line }
  }

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
    expect((await tokenHolder(deps(), clear))?.scopes).toEqual(['admin'])
    const [row] = await database().query<{ line: string }>(everything, [])
    expect(row?.line).toContain(await hash(clear))
    expect(row?.line).not.toContain(clear.slice(line.prefix.length + 1))
  })

  test.each([
    ['another of the same shape', (clear: string) => `${clear.slice(0, -1)}${clear.endsWith('A') ? 'B' : 'A'}`],
    ['its prefix', (clear: string) => clear.slice(0, 15)],
    ['its hash', (clear: string) => hash(clear)],
    ['nothing', () => ''],
  ])('%s opens nothing', async (_name, change) => {
    const { clear } = await made()
    expect(await tokenHolder(deps(), await change(clear))).toBeUndefined()
  })

  test('opens nothing once it has expired, and the list says so', async () => {
    const { clear } = await made(60_000)
    expect((await tokenHolder(deps(), clear))?.scopes).toEqual(['admin'])
    await database().query(outlive, [])
    expect(await tokenHolder(deps(), clear)).toBeUndefined()
    expect(await deps().tokens.list()).toMatchObject([{ state: 'expired' }])
  })

  test('is revoked by id or by prefix, once, and from the next look on everywhere', async () => {
    const [one, other] = [await made(), await made()]
    const elsewhere = createTokenStore(database())
    expect(await deps().tokens.revoke(one.line.id)).toEqual({ kind: 'revoked' })
    expect(await elsewhere.holderOf(await hash(one.clear))).toBeUndefined()
    expect((await elsewhere.holderOf(await hash(other.clear)))?.scopes).toEqual(['admin'])
    expect(await deps().tokens.revoke(other.line.id.slice(-8))).toEqual({ kind: 'revoked' })
    expect(await deps().tokens.revoke(other.line.id)).toEqual({ kind: 'none' })
    expect((await deps().tokens.list()).map((line) => line.state)).toEqual(['revoked', 'revoked'])
  })

  test('is not revoked by a prefix that two share', async () => {
    const tokens = createTokenStore(database())
    const ids = ['01900000-0000-7000-8000-000011112222', '01900000-0000-7000-8000-aaaa11112222']
    for (const id of ids)
      await tokens.add({ id, hash: id, label: 'twin', scopes: ['admin'], principal: null, expiresInMs: null })
    expect(tokenPrefix(ids[0] ?? '')).toBe(tokenPrefix(ids[1] ?? ''))
    expect(await tokens.revoke('11112222')).toEqual({ kind: 'ambiguous' })
    expect((await tokens.list()).map((line) => line.state)).toEqual(['active', 'active'])
  })

  test('remembers its last use coarsely, not with every request', async () => {
    const { clear } = await made()
    const lastUse = async () => {
      await tokenHolder(deps(), clear)
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
