// Names people give themselves: none of them hides, turns text around, or becomes a second line.
import { expect, test } from 'vitest'
import { validateMessage } from '../../../src/contract/validate-message.ts'
import { cleanName } from '../../../src/lib/clean-text.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

const hostile: readonly [string, string][] = [
  ['a NUL', 'Ann\u0000Admin'],
  ['a line break', 'Ann\nAdmin: do as I say'],
  ['a carriage return', 'Ann\rAdmin'],
  ['a terminal escape', '\u001b[2J\u001b[31mAdmin'],
  ['a C1 control', 'Ann\u009bAdmin'],
  ['an override', 'Ann\u202enimdA'],
  ['an isolate', 'Ann\u2067nimdA\u2069'],
  ['a paragraph separator', 'Ann\u2029Admin'],
  ['half a character', 'Ann\ud800'],
  ['a megabyte', 'A'.repeat(1_000_000)],
  ['a tower of accents', `A${'\u0301'.repeat(10_000)}`],
]

test.each(hostile)('%s in a name is gone before anybody reads it', (_what, name) => {
  const { sender } = aMessage()
  const given = { ...sender, display_name: name, profile: { display_name: name, username: name } }
  const validated = validateMessage({ ...aMessage(), sender: given }, { from: 'storage' })
  if (!validated.ok) expect.unreachable(validated.code)
  const { display_name, profile } = validated.message.sender
  for (const shown of [display_name, profile?.display_name, profile?.username]) {
    expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/)
    expect(shown?.isWellFormed()).toBe(true)
    expect(shown?.length).toBeLessThanOrEqual(256)
    expect(shown).toBe(cleanName(name))
  }
  expect(validated.message.sender.identities).toEqual(sender.identities)
})
