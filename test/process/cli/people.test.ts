// Letting people in from the command line, beside a running gateway and without one.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHome, type Home, type Running, until } from './parley.ts'

let home: Home
let gateway: Running
const told = (text: string) => until(60_000, () => home.telegram.sent.find((sent) => String(sent.text).includes(text)))

const refusedAs = (reason: string) =>
  until(60_000, async () => {
    const { refused } = (await gateway.admin('/admin/refused')) as { refused: readonly { reason: string }[] }
    return refused.some((each) => each.reason === reason) ? true : undefined
  })

beforeAll(async () => {
  home = await createHome({ STRANGERS: 'pair' })
  gateway = await home.start()
}, 120_000)
afterAll(() => home.close(), 60_000)

test('a stranger: given a code, listed with the name they go by, let in after kill -9 without a gateway, answered once by the next', async () => {
  await gateway.say('good day')
  const code = /this code: (\S+)/.exec(String((await told("I can't chat with you yet")).text))?.[1] ?? ''
  const list = await home.parley(['pairings', 'list'])
  expect(list.stdout).toMatch(
    new RegExp(`^${code} +pending +telegram:42 +Ada Lovelace +telegram/default +\\* +1 `, 'm'),
  )
  expect((await home.parley(['pairings', 'approve', 'hello'])).code).toBe(2)
  expect((await home.parley(['pairings', 'approve', 'BCDF-2345'])).code).toBe(3)
  await gateway.kill()
  const approved = await home.parley(['pairings', 'approve', code.toLowerCase().replace('-', '')])
  expect(approved).toMatchObject({ code: 0 })
  expect(approved.stdout).toBe(
    'Let in: telegram:42 ("Ada Lovelace") on telegram/default. 1 message is answered when a gateway starts.\n',
  )
  gateway = await home.start()
  await told('hello: good day')
  expect(home.telegram.sent.filter((sent) => String(sent.text).includes('good day'))).toHaveLength(1)
  const again = await home.parley(['pairings', 'reject', code, '--block'])
  expect(again).toMatchObject({ code: 3, stdout: '' })
  expect(again.stderr).toMatch(/already approved by operator:first token at /)
  expect((await home.parley(['pairings', 'list'])).stdout).toBe('No pairings.\n')
}, 180_000)

test('grants: blocked, unblocked, added with a role, revoked', async () => {
  expect((await home.parley(['grants', 'block', 'telegram:42'])).stdout).toMatch(/^Blocked: telegram:42\. Undo it with/)
  await gateway.say('let me in')
  // They were told something within the hour, so nothing is said now.
  await refusedAs('blocked')
  expect((await home.parley(['principals', 'list'])).stdout).toMatch(
    /^telegram:42 .*blocked.*message\.admit refused \(blocked\)/m,
  )
  expect((await home.parley(['grants', 'unblock', 'telegram:42'])).stdout).toBe('Unblocked: telegram:42.\n')
  expect((await home.parley(['grants', 'unblock', 'telegram:42'])).code).toBe(3)
  await gateway.say('and now')
  await told('hello: and now')
  expect((await home.parley(['grants', 'add', 'telegram:7', '--agent', 'dmeo'])).code).toBe(2)
  const added = await home.parley([
    'grants',
    'add',
    'telegram:7',
    '--role',
    'admin',
    '--agent',
    'demo',
    '--expires',
    '30d',
  ])
  expect(added.stdout).toMatch(/^Granted: telegram:7 as admin with the agent demo until /)
  const id = /revoke (\S+)/.exec(added.stdout)?.[1] ?? ''
  expect((await home.parley(['grants', 'list', '--subject', 'telegram:7'])).stdout).toContain(id)
  expect((await home.parley(['grants', 'revoke', id])).code).toBe(0)
  const late = await home.parley(['grants', 'revoke', id])
  expect(late).toMatchObject({ code: 3 })
  expect(late.stderr).toContain('already revoked by operator:first token')
}, 240_000)

test('principals: linked, listed, unlinked', async () => {
  expect((await home.parley(['principals', 'link', 'space:T1/U2', 'telegram:42'])).stdout).toBe(
    'Linked: space:T1/U2 acts as telegram:42 from now on.\n',
  )
  expect((await home.parley(['principals', 'list'])).stdout).toMatch(/^space:T1\/U2 +telegram:42 /m)
  expect((await home.parley(['principals', 'unlink', 'space:T1/U2'])).code).toBe(0)
  expect((await home.parley(['principals', 'unlink', 'space:T1/U2'])).code).toBe(3)
}, 120_000)

test('who is let in while no gateway runs is answered when one starts', async () => {
  const grants = (await home.json(['grants', 'list'])) as { grants: readonly { id: string }[] }
  for (const { id } of grants.grants) await home.parley(['grants', 'revoke', id])
  await gateway.say('am I still known')
  await refusedAs('not_paired')
  await gateway.stop()
  const offline = await home.parley(['grants', 'add', 'telegram:42'])
  expect(offline).toMatchObject({ code: 0 })
  gateway = await home.start()
  await gateway.say('I am back')
  await told('hello: I am back')
}, 240_000)
