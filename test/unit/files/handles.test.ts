// Our own handles: who may follow one, for how long, and what forging one takes.
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AttachmentDescriptor, AttachmentOwner } from '../../../src/files/attachment.ts'
import { ann, fileOf, openTestDesk, type TestDesk } from '../../doubles/attachment-service.ts'

const reader = { kind: 'person', principal: ann.principal } as const
const agent = { kind: 'agent', principal: 'agent:helper' } as const

describe('a handle', () => {
  let scene: TestDesk
  let descriptor: AttachmentDescriptor
  beforeEach(async () => {
    scene = await openTestDesk()
    const outcome = await scene.desk.store(fileOf('hello', { name: 'hello.txt' }))
    if (outcome.kind !== 'stored') throw new Error(outcome.code)
    descriptor = outcome.descriptor
  })
  afterEach(() => scene.close())

  const tokenIn = (url: string) => new URL(url).searchParams.get('token') ?? ''
  const handle = async () => (await scene.desk.handle(descriptor, reader)).url
  const redeem = async (url: string) => {
    const outcome = await scene.desk.redeem(url)
    return outcome.kind === 'refused' ? outcome.code : outcome.kind
  }
  /** A URL for the stored object with a token of somebody's own making. */
  const forged = async (
    change: (claims: Record<string, unknown>) => Record<string, unknown>,
    key?: { readonly id: string; readonly secret: Uint8Array },
  ) => {
    const url = await handle()
    const { id, secret } = key ?? (await scene.keys.current())
    const claims = change({ ...decodeJwt(tokenIn(url)) })
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: id }).sign(secret)
    return url.replace(tokenIn(url), token)
  }

  test('is a URL of our own for one object, good for five minutes, different at every call', async () => {
    const first = await scene.desk.handle(descriptor, reader)
    const second = await scene.desk.handle(descriptor, reader)
    expect(first.url).toMatch(
      /^https:\/\/parley\.example\/storage\/v1\/object\/sign\/agent-files\/agent-inputs\/[0-9a-f-]{36}\.txt\?token=[\w-]+\.[\w-]+\.[\w-]+$/,
    )
    expect(first.expiresAt).toBe('2026-11-17T12:05:00.000Z')
    expect(second.url).not.toBe(first.url)
    expect(await redeem(first.url)).toBe('redeemed')
    expect(await redeem(second.url)).toBe('redeemed')
  })

  test('tells nobody who reads it', async () => {
    const url = await handle()
    const { payload, header } = { payload: decodeJwt(tokenIn(url)), header: decodeProtectedHeader(tokenIn(url)) }
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: (await scene.keys.current()).id })
    expect(Object.keys(payload).toSorted()).toEqual(['aud', 'exp', 'for', 'iat', 'jti', 'scope', 'sub', 'url'])
    expect(JSON.stringify(payload)).not.toContain('ann')
  })

  test('is taken as a path with its query, as a listener gets it, and behind another origin', async () => {
    const url = await handle()
    expect(await redeem(url.replace('https://parley.example', ''))).toBe('redeemed')
    expect(await redeem(url.replace('https://parley.example', 'http://10.0.0.7:8787'))).toBe('redeemed')
  })

  test('ends: after five minutes for a person, after one for an agent', async () => {
    const [person, machine] = [await scene.desk.handle(descriptor, reader), await scene.desk.handle(descriptor, agent)]
    const later = async (ms: number) => {
      scene.clock.nowMs += ms
      return [await redeem(person.url), await redeem(machine.url)]
    }
    expect(await later(59_000)).toEqual(['redeemed', 'redeemed'])
    expect(await later(1_000)).toEqual(['redeemed', 'SU_EXPIRED'])
    expect(await later(239_000)).toEqual(['redeemed', 'SU_EXPIRED'])
    expect(await later(1_000)).toEqual(['SU_EXPIRED', 'SU_EXPIRED'])
  })

  test('is made for the owner or for an agent, and for nobody else', async () => {
    await expect(scene.desk.handle(descriptor, { kind: 'person', principal: 'person:bob' })).rejects.toMatchObject({
      code: 'forbidden',
    })
    expect(await redeem((await scene.desk.handle(descriptor, agent)).url)).toBe('redeemed')
  })

  test('ends with what it stands for: another owner, a block, a removal', async () => {
    const url = await handle()
    const machine = (await scene.desk.handle(descriptor, agent)).url
    scene.rows.change(descriptor.id, { owner: { principal: 'person:bob', threadId: null } })
    expect([await redeem(url), await redeem(machine)]).toEqual(['SU_OWNER', 'redeemed'])
    scene.rows.change(descriptor.id, { owner: ann, status: 'blocked' })
    expect([await redeem(url), await redeem(machine)]).toEqual(['SU_BLOCKED', 'SU_BLOCKED'])
    scene.rows.change(descriptor.id, { status: 'ready' })
    expect(await redeem(url)).toBe('redeemed')
    await scene.desk.remove(descriptor.id, 'operator')
    expect(await redeem(url)).toBe('SU_UNKNOWN_OBJECT')
  })

  test('does not open another object, another bucket or another place', async () => {
    const url = await handle()
    const other = await scene.desk.store(fileOf('other'))
    if (other.kind !== 'stored') throw new Error(other.code)
    const at = (path: string) => url.replace(`${descriptor.bucket}/${descriptor.path}`, path)
    expect(await redeem(at(`agent-files/${other.descriptor.path}`))).toBe('SU_TOKEN_MISMATCH')
    expect(await redeem(at(`other-files/${descriptor.path}`))).toBe('SU_TOKEN_MISMATCH')
    expect(await redeem(at(`agent-files/x/../${descriptor.path}`))).toBe('SU_TRAVERSAL')
    expect(await redeem(at(`agent-files/%2e%2e/agent-files/${descriptor.path}`))).toBe('SU_TRAVERSAL')
    expect(await redeem(at(`agent-files//${descriptor.path}`))).toBe('SU_PATH_ENCODING')
    expect(await redeem(url.replace('/sign/', '/public/'))).toBe('SU_FORM')
    expect(await redeem(`${url}&token=${tokenIn(url)}`)).toBe('SU_DUP_PARAM')
    expect(await redeem(url.split('?')[0] ?? '')).toBe('SU_TOKEN_MALFORMED')
  })

  test('with any claim changed by somebody who has the key is still held to its object and purpose', async () => {
    expect(await redeem(await forged((claims) => claims))).toBe('redeemed')
    const without = (name: string) => (claims: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(claims).filter(([each]) => each !== name))
    const changes: readonly (readonly [string, (claims: Record<string, unknown>) => Record<string, unknown>])[] = [
      ['SU_TOKEN_MISMATCH', (claims) => ({ ...claims, aud: 'parley:other:attachment-download' })],
      ['SU_TOKEN_MISMATCH', (claims) => ({ ...claims, aud: 'parley:default:admin' })],
      ['SU_TOKEN_MISMATCH', (claims) => ({ ...claims, url: 'agent-files/other' })],
      ['SU_TOKEN_MISMATCH', (claims) => ({ ...claims, for: 'operator:x' })],
      ['SU_OWNER', (claims) => ({ ...claims, jti: 'another' })],
      ['SU_SCOPE', (claims) => ({ ...claims, scope: 'upload' })],
      ['SU_UNKNOWN_OBJECT', (claims) => ({ ...claims, sub: crypto.randomUUID() })],
      ...['exp', 'aud', 'sub', 'scope', 'for', 'url', 'jti', 'iat'].map(
        (name) => ['SU_TOKEN_MISMATCH', without(name)] as const,
      ),
    ]
    for (const [code, change] of changes) expect([code, await redeem(await forged(change))]).toEqual([code, code])
  })

  test('forged in any way has one answer, whether its object exists or not', async () => {
    const url = await handle()
    const token = tokenIn(url)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const foreign = { id: (await scene.keys.current()).id, secret: crypto.getRandomValues(new Uint8Array(32)) }
    const unsecured = new UnsecuredJWT(decodeJwt(token)).encode()
    const noneWithKey = `${btoa('{"alg":"none","kid":"x"}').replace(/=+$/, '')}.${payload}.`
    const stronger = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'HS512', kid: foreign.id })
      .sign(crypto.getRandomValues(new Uint8Array(64)))
    const forgeries = [
      await forged((claims) => claims, foreign),
      await forged((claims) => claims, { ...foreign, id: crypto.randomUUID() }),
      await forged((claims) => claims, { ...foreign, id: 'x'.repeat(1000) }),
      ...[
        unsecured,
        noneWithKey,
        stronger,
        `${header}.${payload}.`,
        `${header}.${payload}.${signature.slice(1)}`,
        'a.b.c',
        'x',
      ].map((each) => url.replace(token, each)),
    ]
    for (const each of forgeries) {
      expect(await redeem(each)).toBe('SU_TOKEN_MALFORMED')
      const nowhere = each.replace(descriptor.path, 'agent-inputs/none.txt')
      expect(await scene.desk.redeem(nowhere)).toEqual(await scene.desk.redeem(each))
    }
  })

  test('survives a change of keys until the old key is forgotten', async () => {
    const url = await handle()
    await scene.keys.rotate('operator')
    expect(await redeem(url)).toBe('redeemed')
    scene.keys.forget()
    expect(await redeem(url)).toBe('SU_TOKEN_MALFORMED')
  })

  test('in a message is claimed by its owner, also when it has expired or its key is gone', async () => {
    const url = await handle()
    const claim = async (by: AttachmentOwner = ann) => {
      const outcome = await scene.desk.claim(url, by)
      return outcome.kind === 'refused' ? outcome.code : outcome.descriptor.id
    }
    expect(await claim()).toBe(descriptor.id)
    scene.clock.nowMs += 86_400_000
    expect(await claim()).toBe(descriptor.id)
    expect(await claim({ principal: 'person:bob', threadId: null })).toBe('SU_OWNER')
    scene.keys.forget()
    expect(await claim()).toBe(descriptor.id)
  })

  test('in a message that was forged with a key of ours is refused', async () => {
    const url = await forged((claims) => claims, { ...(await scene.keys.current()), secret: new Uint8Array(32) })
    expect(await scene.desk.claim(url, ann)).toMatchObject({ kind: 'refused', code: 'SU_TOKEN_MALFORMED' })
    const opaque = url.replace(tokenIn(url), 'xxx')
    expect(await scene.desk.claim(opaque, ann)).toMatchObject({ kind: 'refused', code: 'SU_TOKEN_MALFORMED' })
  })

  test('of the same bytes sent twice means the one it was made for', async () => {
    const again = await scene.desk.store(fileOf('hello', { name: 'again.txt' }))
    if (again.kind !== 'stored') throw new Error(again.code)
    expect(again.descriptor.path).toBe(descriptor.path)
    for (const each of [descriptor, again.descriptor]) {
      const { url } = await scene.desk.handle(each, reader)
      expect(await scene.desk.claim(url, ann)).toEqual({ kind: 'claimed', descriptor: each })
    }
  })
})
