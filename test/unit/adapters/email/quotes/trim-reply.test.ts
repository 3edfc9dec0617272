// Whatever is written: trimming divides a text, it never drops a word from both halves.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { trimReply } from '../../../../../adapters/email/quotes/trim-reply.ts'
import { scaled } from '../../../../setup/scale.ts'

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '> quoted',
    '>> deeper',
    'Some words.',
    '-- ',
    '--',
    '________________________________',
    'Sent from my iPhone',
    'On Tue, Mar 5, 2024 at 9:12 AM Ann <ann@x.example> wrote:',
    'On Tue, Mar 5, 2024 at 9:12 AM Ann <',
    '> wrote:',
    'From: Ann',
    'Sent: Tuesday',
    'To: Bob',
    'Subject: Re',
    '-----Original Message-----',
    'Ann wrote:',
    '| cell',
    '---------- Forwarded message ---------',
    '\u0001',
  ),
  fc.string({ maxLength: 40 }),
)
const words = (text: string): readonly string[] =>
  text.replaceAll('\u0001', ' ').split(/\s+/).filter(Boolean).toSorted()

describe('trimming', () => {
  test('divides every text into what stays and what goes', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const given = lines.join('\n')
        const { text, quoted } = trimReply(given)
        expect(words(`${text}\n${quoted}`)).toEqual(
          words(
            given
              .split('\n')
              .filter((each) => !each.includes('\u0001'))
              .join('\n'),
          ),
        )
      }),
      { numRuns: scaled(500) },
    )
  })

  test('leaves something of every text that says something', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const given = lines.filter((each) => !each.includes('\u0001')).join('\n')
        expect(trimReply(given).text === '').toBe(given.trim() === '')
      }),
      { numRuns: scaled(500) },
    )
  })
})
