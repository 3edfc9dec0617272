// Addresses.

import { displayAddress, isValidAgentAddress } from '../../../src/contract/address.ts'
import { formatAddress, parseAddress } from '../../../src/contract/index.ts'
import { agentJrd, readJrd } from '../../../src/identity/webfinger.ts'
import type { Case } from '../conform.ts'

const canonical = (text: string) => {
  const parsed = parseAddress(text)
  return parsed && formatAddress(parsed)
}

export const addressCases: readonly Case[] = [
  {
    id: 'AD-01',
    claim: 'a full address has a local part and a domain',
    run: () => parseAddress('@agent@verse8.io'),
    equals: { local: 'agent', domain: 'verse8.io' },
  },
  {
    id: 'AD-02',
    claim: 'the domain is kept in lower case',
    run: () => parseAddress('acct:agent@Verse8.IO'),
    equals: { local: 'agent', domain: 'verse8.io' },
  },
  {
    id: 'AD-03',
    claim: 'the canonical form gets a leading @',
    run: () => canonical('agent@verse8.io'),
    equals: '@agent@verse8.io',
  },
  {
    id: 'AD-04',
    claim: 'what has no local part, two separators or a single label is no address',
    run: () => ['@verse8.io', '@@verse8.io', '@foo@bar@baz', '@foo@localhost'].map(parseAddress),
    equals: [undefined, undefined, undefined, undefined],
  },
  {
    id: 'AD-05',
    claim: 'a name below a reserved top level is one',
    run: () => canonical('@agent@agent.localhost'),
    equals: '@agent@agent.localhost',
  },
  {
    id: 'AD-06',
    claim: 'no agent of ours has a line break, a slash, a blank or 65 characters',
    run: () =>
      ['a\rb', 'a\nb', 'a/b', 'a b', 'a'.repeat(65)].map((local) => isValidAgentAddress(`@${local}@verse8.io`)),
    equals: [false, false, false, false, false],
  },
  {
    id: 'AD-07',
    claim: 'an international domain is stored as punycode and shown in letters',
    run: () => {
      const parsed = parseAddress('@agent@bücher.example')
      return [parsed?.domain, parsed && displayAddress(parsed)]
    },
    equals: ['xn--bcher-kva.example', '@agent@bücher.example'],
  },
  {
    id: 'AD-08',
    claim: 'a link in the clear is refused, links in another order are taken with a warning',
    run: () => {
      const jrd = (...links: readonly object[]) =>
        readJrd({ subject: 'acct:agent@verse8.io', links }, '@agent@verse8.io')
      const card = { rel: 'https://mentionable.dev/ns/rel/agent-card', href: 'https://verse8.io/card' }
      const self = { rel: 'self', href: 'https://verse8.io/ap/agent' }
      return [jrd({ ...card, href: 'http://verse8.io/card' }), jrd(card, self), jrd(self, card)]
    },
    expected: [
      { ok: false, code: 'JRD_HREF' },
      { ok: true, warnings: ['JRD_ORDER'] },
      { ok: true, warnings: [] },
    ],
  },
  {
    id: 'AD-09',
    claim: 'a card under its old name is found',
    run: () => {
      const links = [{ rel: 'https://mentionable.dev/agent-card', href: 'https://verse8.io/card' }]
      return readJrd({ subject: 'acct:agent@verse8.io', links }, '@agent@verse8.io')
    },
    expected: { ok: true, card: 'https://verse8.io/card' },
  },
  {
    id: 'AD-10',
    claim: 'what we publish names the card by its present name only',
    run: () => agentJrd('@agent@verse8.io', { card: 'https://verse8.io/card' }).links.map(({ rel }) => rel),
    equals: ['https://mentionable.dev/ns/rel/agent-card'],
  },
]
