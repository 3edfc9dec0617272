// WebFinger documents: ours lead to what they name, and nobody's leads us into the clear or to somebody else.
import { expect, test } from 'vitest'
import { agentJrd, readJrd } from '../../../src/identity/webfinger.ts'

const card = 'https://gw.example/.well-known/agent-card/helper'

test('what we publish is what we read', () => {
  const jrd = agentJrd('@helper@gw.example', { card, self: 'https://gw.example/ap/helper', mail: 'helper@gw.example' })
  expect(jrd.links.map(({ rel }) => rel)).toEqual(['self', 'https://mentionable.dev/ns/rel/agent-card', 'mailto'])
  expect(readJrd(jrd, 'acct:helper@gw.example')).toMatchObject({ ok: true, card, warnings: [] })
})

test.each([
  ['no object', 'text', 'JRD_MALFORMED'],
  ['links that are none', { subject: 'acct:helper@gw.example', links: [{ rel: 1 }] }, 'JRD_MALFORMED'],
  ['65 links', { subject: 'acct:helper@gw.example', links: Array(65).fill({ rel: 'x', href: 'y' }) }, 'JRD_MALFORMED'],
  ['another account', { subject: 'acct:other@gw.example', links: [] }, 'JRD_SUBJECT'],
  ['the same name elsewhere', { subject: 'acct:helper@gw.example.evil', links: [] }, 'JRD_SUBJECT'],
  [
    'an href that is a script',
    { subject: 'acct:helper@gw.example', links: [{ rel: 'self', href: 'javascript:1' }] },
    'JRD_HREF',
  ],
])('%s is refused', (_what, input, code) => {
  expect(readJrd(input, '@helper@gw.example')).toEqual({ ok: false, code })
})

test('an address of ours that is reached in the clear is not published', () => {
  expect(() => agentJrd('@helper@gw.example', { card: 'http://gw.example/card' })).toThrow('must be an https address')
})

test('a link that is a template leads nowhere and spoils nothing', () => {
  const subscribe = { rel: 'http://ostatus.org/schema/1.0/subscribe', template: 'https://gw.example/follow?uri={uri}' }
  const jrd = { subject: 'acct:helper@gw.example', links: [{ rel: 'self', href: 'https://gw.example/h' }, subscribe] }
  expect(readJrd(jrd, '@helper@gw.example')).toMatchObject({ ok: true, self: 'https://gw.example/h', warnings: [] })
})

test('links nobody here knows are passed over, whatever they lead to', () => {
  const strange = { rel: 'http://strange.example/rel', href: 'http://strange.example' }
  const jrd = { subject: 'acct:helper@gw.example', links: [strange] }
  expect(readJrd(jrd, '@helper@gw.example')).toMatchObject({ ok: true, card: undefined })
})
