// One address space for people, agents and services.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { displayAddress, isCanonicalAddress, isValidAgentAddress } from '../../../src/contract/address.ts'
import { formatAddress, parseAddress } from '../../../src/contract/index.ts'
import { scaled } from '../../setup/scale.ts'

describe('an address is read', () => {
  test.each([
    { id: 'AD-01', text: '@agent@verse8.io', local: 'agent', domain: 'verse8.io' },
    { id: 'AD-02', text: 'acct:agent@Verse8.IO', local: 'agent', domain: 'verse8.io' },
    { id: 'AD-03', text: 'agent@verse8.io', local: 'agent', domain: 'verse8.io' },
    { id: 'AD-05', text: '@agent@agent.localhost', local: 'agent', domain: 'agent.localhost' },
    { id: 'AD-07', text: '@agent@bücher.example', local: 'agent', domain: 'xn--bcher-kva.example' },
    { id: 'plus', text: 'alice+news@example.com', local: 'alice+news', domain: 'example.com' },
    { id: 'case', text: '@Alice@EXAMPLE.com', local: 'Alice', domain: 'example.com' },
  ])('$id $text', ({ text, local, domain }) => {
    expect(parseAddress(text)).toEqual({ local, domain })
  })

  test('AD-03 the canonical form gets a leading @', () => {
    const parsed = parseAddress('agent@verse8.io')
    expect(parsed && formatAddress(parsed)).toBe('@agent@verse8.io')
    expect(isCanonicalAddress('agent@verse8.io')).toBe(false)
    expect(isCanonicalAddress('@agent@verse8.io')).toBe(true)
  })

  test('AD-02 an upper-case domain is not canonical', () => {
    expect(isCanonicalAddress('@agent@Verse8.IO')).toBe(false)
  })
})

test('a domain is what the URL parser makes of it, or nothing', () => {
  const label = fc.stringMatching(/^[a-z0-9-]{1,8}$|^xn--[a-z0-9-]{1,6}$|^0x[0-9a-f]{1,3}$/)
  fc.assert(
    fc.property(fc.array(label, { minLength: 2, maxLength: 4 }), (labels) => {
      const domain = labels.join('.')
      const parsed = parseAddress(`a@${domain}`)?.domain
      const host = URL.canParse(`http://${domain}/`) ? new URL(`http://${domain}/`).hostname : undefined
      expect(parsed === undefined || parsed === host, domain).toBe(true)
    }),
    { numRuns: scaled(2_000) },
  )
})

describe('an address is refused', () => {
  const cases = [
    { id: 'AD-04', text: '@verse8.io' },
    { id: 'AD-04', text: '@@verse8.io' },
    { id: 'AD-04', text: '@foo@bar@baz' },
    { id: 'AD-04', text: '@foo@localhost' },
    { id: 'AD-06', text: '@age\rnt@verse8.io' },
    { id: 'AD-06', text: '@agent\n@verse8.io' },
    { id: 'AD-06', text: '@agent@verse8.io\n' },
    { id: 'AD-06', text: '@a/b@verse8.io' },
    { id: 'AD-06', text: '@a b@verse8.io' },
    { id: 'AD-06', text: `@${'a'.repeat(65)}@verse8.io` },
    { id: 'dots', text: '@.agent@verse8.io' },
    { id: 'unicode local part', text: '@ägent@verse8.io' },
    { id: 'numbers', text: '@agent@127.0.0.1' },
    { id: 'hex numbers', text: '@agent@0x7f.1' },
    { id: 'port', text: '@agent@verse8.io:443' },
    { id: 'path', text: '@agent@verse8.io/x' },
    { id: 'trailing dot', text: '@agent@verse8.io.' },
    { id: 'hyphen at the edge', text: '@agent@-verse8.io' },
    { id: 'long domain', text: `@agent@${'a.'.repeat(127)}io` },
    { id: 'empty', text: '' },
  ]
  test.each(cases)('$id $text', ({ text }) => {
    expect(parseAddress(text)).toBeUndefined()
    expect(isValidAgentAddress(text)).toBe(false)
  })
})

describe('an address of our own', () => {
  test('AD-06 has at most 64 characters of a small alphabet', () => {
    expect(isValidAgentAddress(`@${'a'.repeat(64)}@verse8.io`)).toBe(true)
    expect(isValidAgentAddress('@sales.bot_2-eu@verse8.io')).toBe(true)
    expect(isValidAgentAddress('@sales+eu@verse8.io')).toBe(false)
    expect(isValidAgentAddress('sales@verse8.io')).toBe(false)
  })
})

describe('an address is shown', () => {
  const show = (text: string) => {
    const parsed = parseAddress(text)
    return parsed && displayAddress(parsed)
  }
  test.each([
    { id: 'AD-07', text: 'agent@xn--bcher-kva.example', shown: '@agent@bücher.example' },
    { id: 'AD-07', text: 'agent@münchen.bücher.example', shown: '@agent@münchen.bücher.example' },
    { id: 'AD-07', text: 'agent@例え.テスト', shown: '@agent@例え.テスト' },
    { id: 'plain', text: 'agent@verse8.io', shown: '@agent@verse8.io' },
    { id: 'look-alike', text: 'agent@pаypal.example', shown: '@agent@xn--pypal-4ve.example' },
  ])('$id $text', ({ text, shown }) => {
    expect(show(text)).toBe(shown)
  })
})
