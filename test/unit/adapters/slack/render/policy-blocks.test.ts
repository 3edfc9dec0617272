// A policy part as a section with a button: what it shows, where it leads, and what it keeps to itself.
import { expect, test } from 'vitest'
import { policyBlocks } from '../../../../../adapters/slack/render/reply.ts'

const policy = {
  kind: 'payment_required',
  title: 'One *more* step',
  message: 'Pay <5 EUR> & go on.\nThen answer here.',
  url: 'https://agent.example/pay?s=1',
  action_label: 'Pay now',
  state: 'st_123',
  amount: '5',
  terms: { secret: 'all of them' },
}

test('a policy block shows what is asked beside a button that leads there and knows the state alone', () => {
  expect(policyBlocks(policy)).toEqual([
    {
      type: 'section',
      text: {
        type: 'mrkdwn',
        text: 'One *\u200bmore* step\n\nPay &lt;5 EUR&gt; &amp; go on.\nThen answer here.',
        verbatim: true,
      },
      accessory: {
        type: 'button',
        action_id: 'policy',
        text: { type: 'plain_text', text: 'Pay now', emoji: false },
        url: 'https://agent.example/pay?s=1',
        value: 'st_123',
      },
    },
  ])
})

test.each([
  ['http', 'http://agent.example/pay'],
  ['a program', 'javascript:alert(1)'],
  ['a name in the address', 'https://agent.example@evil.example/'],
  ['another site', 'https://evil.example/pay'],
  ['no address', undefined],
])('a policy block leaves the button out for %s', (_, url) => {
  const blocks = policyBlocks({ ...policy, url }, { origin: 'https://agent.example' })
  expect(blocks).toHaveLength(1)
  expect(blocks[0]).not.toHaveProperty('accessory')
})

test('a policy block keeps to the limits of its fields', () => {
  const blocks = policyBlocks({
    ...policy,
    message: 'word '.repeat(1500),
    action_label: 'x'.repeat(200),
    state: 's'.repeat(2001),
  })
  expect(blocks.length).toBeGreaterThan(1)
  expect(blocks.every((block) => JSON.stringify(block['text']).length < 3100)).toBe(true)
  const button = blocks.at(-1)?.['accessory']
  expect(button).toMatchObject({ text: { text: 'x'.repeat(75) } })
  expect(button).not.toHaveProperty('value')
  expect(blocks.slice(0, -1).every((block) => !('accessory' in block))).toBe(true)
})

test('a title without marks is bold, and a button without a label says what it does', () => {
  const [block] = policyBlocks({
    kind: 'consent_required',
    title: 'Terms',
    message: 'Agree?',
    url: 'https://a.example/',
  })
  expect(block).toMatchObject({ text: { text: '*Terms*\n\nAgree?' }, accessory: { text: { text: 'Open' } } })
})
