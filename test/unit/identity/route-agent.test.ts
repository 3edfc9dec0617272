// Whom a message is for, and whom a reply may call: mentions are read with care, since they wake somebody.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mayMentionHuman, mentionsIn } from '../../../src/identity/mentions.ts'
import { type RouteRequest, routeAgent } from '../../../src/identity/route-agent.ts'
import { scaled } from '../../setup/scale.ts'

const found = (text: string) =>
  mentionsIn(text).map(({ local, domain }) => (domain === undefined ? local : `${local}@${domain}`))

test.each<[string, readonly string[]]>([
  ['@lean hi', ['lean']],
  ['hi @lean, and @demo!', ['lean', 'demo']],
  ['(@lean) "@demo" *@x*', ['lean', 'demo', 'x']],
  ['@lean@Example.COM.', ['lean@example.com']],
  ['@lean@bücher.example', ['lean@xn--bcher-kva.example']],
  ['@lean’s', ['lean']],
  ['write to lean@example.com', []],
  ['a@lean', []],
  ['ä@lean', []],
  ['@leanä', []],
  ['@lean@localhost', []],
  ['@foo@bar@baz', []],
  ['@@lean', []],
  ['https://example.com/@lean', []],
  ['https://example.com/?to=@lean', []],
  ['`@lean` and @demo', ['demo']],
  ['``a ` @lean`` @demo', ['demo']],
  ['`a\nb @lean` @demo', ['demo']],
  ['a ` b\n\n@lean ` c', ['lean']],
  ['```\n@lean\n```\n@demo', ['demo']],
  ['```\n```\n@demo', ['demo']],
  ['~~~js\n@lean\n~~~\n@demo', ['demo']],
  ['```\n@lean never closed', []],
  ['@lean`code`x', ['lean']],
  ['`code`@lean', []],
  ['@', []],
  [`@${'a'.repeat(65)}`, []],
  ['＠lean', []],
])('%j mentions %j', (text, expected) => {
  expect(found(text)).toEqual(expected)
})

test('any text is read in bounded time, without a crash, and what is found was there', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('`', '```', '~~~', '\n', ' ', '@', '@a', '@a@b.example', 'x', '.', '\\')),
      (bits) => {
        const text = bits.join('')
        for (const mention of mentionsIn(text)) expect(text).toContain(mention.text)
      },
    ),
    { numRuns: scaled(2_000) },
  )
  for (const evil of ['`', '@', '@a@', '`@a', '```\n', '~~~', '@a.', ' `` `']) mentionsIn(evil.repeat(200_000))
  expect(mentionsIn('@a '.repeat(1_000))).toHaveLength(64)
})

describe('a message goes to', () => {
  const route = (text: string, changes: Partial<RouteRequest> = {}) => {
    const agents = new Set(['lean', 'demo'])
    const domains = new Set(['gw.example'])
    const routed = routeAgent({ mentions: mentionsIn(text), defaultAgent: 'demo', agents, domains, ...changes })
    return routed.kind === 'routed' ? `${routed.slug} by ${routed.reason}` : routed.code
  }

  test.each<[string, string, Partial<RouteRequest>, string]>([
    ['the agent it begins with', '@lean hi', {}, 'lean by mention'],
    ['the agent it begins with, however written', ' @Lean hi', {}, 'lean by mention'],
    ['the default without a mention', 'hi', {}, 'demo by default'],
    ['the default when nobody has that name', '@nobody hi', {}, 'demo by default'],
    ['the first of ours among those it begins with', '@nobody, @lean hi', {}, 'lean by mention'],
    ['the default when an agent is merely spoken of', 'ask @lean', {}, 'demo by default'],
    ['the default when an agent is spoken of after another', 'ask @nobody @lean', {}, 'demo by default'],
    ['our agent by its whole address', '@lean@gw.example hi', {}, 'lean by mention'],
    ['nobody’s namesake elsewhere', '@lean@other.example hi', {}, 'demo by default'],
    ['the agent of the first turn', 'and then?', { sticky: 'lean' }, 'lean by sticky'],
    ['another agent when it is addressed', '@demo hi', { sticky: 'lean' }, 'demo by mention'],
    ['the default when the first turn’s agent is gone', 'hi', { sticky: 'gone' }, 'demo by default'],
    ['the connection’s own agent, whoever is mentioned', '@lean hi', { connectionAgent: 'demo' }, 'demo by connection'],
    ['nobody when the connection’s agent is gone', '@lean hi', { connectionAgent: 'gone' }, 'agent_unknown'],
    ['nobody when the default is gone', 'hi', { defaultAgent: 'gone' }, 'agent_unknown'],
    ['nobody through a name of the language', '@constructor hi', { defaultAgent: 'gone' }, 'agent_unknown'],
    ['the default after code', '`x` @lean', {}, 'demo by default'],
  ])('%s', (_claim, text, changes, expected) => {
    expect(route(text, changes)).toBe(expected)
  })
})

test.each([
  ['participants', '@ann@example.org', true],
  ['participants', 'acct:ann@EXAMPLE.org', true],
  ['participants', '@bob@example.org', false],
  ['participants', '@Ann@example.org', false],
  ['participants', 'ann', false],
  [undefined, '@ann@example.org', true],
  [undefined, '@bob@example.org', false],
  ['anyone', '@bob@example.org', true],
  ['anyone', 'not an address', false],
  ['nobody', '@ann@example.org', false],
] as const)('with %s a reply to %s is notified: %j', (policy, address, expected) => {
  expect(mayMentionHuman(policy, ['@ann@example.org'], address)).toBe(expected)
})
