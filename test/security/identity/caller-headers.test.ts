// Caller headers made up by somebody: whatever cannot be read refuses the request, and never becomes a new chain.
import { expect, test } from 'vitest'
import { readCallerContext } from '../../../src/identity/call-chain.ts'

const good: Readonly<Record<string, string>> = {
  'x-agents-api-caller-agent': 'helper',
  'x-agents-api-caller-user': '0',
  'x-agents-api-caller-host': 'https://other.example',
  'x-agents-api-chain-depth': '1',
  'x-agents-api-chain-root': 'root-1',
}
const depth = (value: string) => ({ 'x-agents-api-chain-depth': value })
const host = (value: string) => ({ 'x-agents-api-caller-host': value })
const read = (headers: Readonly<Record<string, string | undefined>>) =>
  readCallerContext(headers, { newRoot: () => 'fresh' })

test.each<[string, Readonly<Record<string, string | undefined>>, string]>([
  ['depth -1', depth('-1'), 'depth'],
  ['depth 17', depth('17'), 'depth'],
  ['depth as text', depth('abc'), 'depth'],
  ['a huge depth', depth('9'.repeat(400)), 'depth'],
  ['a depth of 2 to the 64', depth('18446744073709551616'), 'depth'],
  ['depth with a sign', depth('+1'), 'depth'],
  ['depth with a fraction', depth('1.0'), 'depth'],
  ['depth in powers', depth('1e0'), 'depth'],
  ['depth in hex', depth('0x1'), 'depth'],
  ['depth with a zero before', depth('01'), 'depth'],
  ['depth in other digits', depth('١'), 'depth'],
  ['depth empty', depth(''), 'depth'],
  ['depth twice', depth('1, 1'), 'depth'],
  ['no depth', { 'x-agents-api-chain-depth': undefined }, 'depth'],
  ['a second spelling of depth', { ...depth('1'), 'X-Agents-Api-Chain-Depth': '2' }, 'depth'],
  ['a user below zero', { 'x-agents-api-caller-user': '-1' }, 'user'],
  ['a user as text', { 'x-agents-api-caller-user': 'admin' }, 'user'],
  ['a huge user', { 'x-agents-api-caller-user': '9'.repeat(400) }, 'user'],
  ['no agent', { 'x-agents-api-caller-agent': undefined }, 'agent'],
  ['an agent with a line break', { 'x-agents-api-caller-agent': 'a\r\nx-admin: 1' }, 'agent'],
  ['a huge agent', { 'x-agents-api-caller-agent': 'a'.repeat(100_000) }, 'agent'],
  ['no root', { 'x-agents-api-chain-root': undefined }, 'root'],
  ['a root with a blank', { 'x-agents-api-chain-root': 'a b' }, 'root'],
  ['a huge root', { 'x-agents-api-chain-root': 'r'.repeat(100_000) }, 'root'],
  ['host self below the top', host('self'), 'host'],
  ['a host without a scheme', host('other.example'), 'host'],
  ['a host of another scheme', host('file:///etc/passwd'), 'host'],
  ['a script', host('javascript:alert(1)'), 'host'],
  ['a host with a password', host('https://user:pass@other.example'), 'host'],
  ['two hosts', host('https://a.example, https://b.example'), 'host'],
  ['a huge host', host(`https://${'a'.repeat(100_000)}.example`), 'host'],
  ['an agent at the top', { ...depth('0') }, 'agent'],
])('%s is refused', (_what, change, field) => {
  expect(read({ ...good, ...change })).toMatchObject({ ok: false, code: 'invalid_agent_caller_context', field })
})

test('a refusal repeats nothing of what was sent', () => {
  const told = read({ ...good, ...depth('canary') })
  expect(JSON.stringify(told)).not.toContain('canary')
})
