// EM-120 to EM-123: what the sender wrote now, told apart from what they answer, and never lost.
import { describe, expect, test } from 'vitest'
import { trimReply } from '../../../adapters/email/quotes/trim-reply.ts'
import { cpuMs, isLinear } from '../../doubles/linear-time.ts'
import { forwards, inlineAnswers, lookAlikes } from './assert-no-lost-text.ts'
import { quotedReplies } from './quoted-replies.ts'

const words = (text: string): string => text.replace(/\s+/g, ' ').trim()

describe('EM-120 a reply without the mail it answers', () => {
  test.each(quotedReplies)('is exactly what its author wrote: $name', ({ mail, text }) => {
    expect(trimReply(mail).text).toBe(text)
  })

  test.each(quotedReplies)('keeps what was taken off beside it: $name', ({ mail, text }) => {
    const { quoted } = trimReply(mail)
    expect(words(`${text}\n${quoted}`).split(' ').toSorted()).toEqual(words(mail).split(' ').toSorted())
  })

  test.each(quotedReplies)('is the same with the line ends of the wire: $name', ({ mail, text }) => {
    expect(trimReply(mail.replaceAll('\n', '\r\n')).text).toBe(text)
  })

  test.each(lookAlikes)('is everything where only the looks are those of a program: %s', (_, mail) => {
    expect(words(trimReply(mail).text)).toBe(words(mail))
  })
})

describe('EM-120 hostile quoting costs no more than other text', () => {
  const shapes: readonly (readonly [string, (length: number) => string])[] = [
    ['spaces', (length) => ' '.repeat(length)],
    ['spaces before a letter', (length) => `${' '.repeat(length)}x`],
    ['dashes', (length) => '-'.repeat(length)],
    ['dashes before a letter, line by line', (length) => `${'-'.repeat(499)}x\n`.repeat(length / 500)],
    ['"On … at" in one line', (length) => 'On Mon, 1 Jan 2024 at 10:00 '.repeat(length / 28)],
    ['"On … at" in many lines', (length) => 'On Mon, 1 Jan 2024 at 10:00\n'.repeat(length / 28)],
    ['marks of quoting', (length) => '> \n'.repeat(length / 3)],
    ['marks of quoting in one line', (length) => '>'.repeat(length)],
    ['words and quotes in turn', (length) => 'a\n> b\n'.repeat(length / 6)],
    ['header lines', (length) => 'From: a\nTo: b\n'.repeat(length / 14)],
    ['opening brackets', (length) => `${'<'.repeat(499)}\n`.repeat(length / 500)],
  ]

  test.each(shapes)('%s', (_, shape) => {
    const [half, whole] = [shape(60_000), shape(120_000)]
    expect(
      isLinear(
        () => trimReply(half),
        () => trimReply(whole),
      ),
    ).toBe(true)
    // 50 ms on a machine with nothing else to do.
    expect(cpuMs(() => trimReply(whole))).toBeLessThan(500)
  })
})

describe('EM-121 answers between quotes', () => {
  test.each(inlineAnswers)('are kept in order, with what they answer: $name', ({ mail, text }) => {
    expect(trimReply(mail).text).toBe(text)
  })
})

describe('EM-122 a forwarded mail', () => {
  test.each(forwards)('is what the mail is about, and stays: %s', (_, mail) => {
    expect(trimReply(mail)).toEqual({ text: mail, quoted: '' })
  })
})

describe('EM-123 a mail that is nothing but a quote', () => {
  test('stays as it is', () => {
    const mail = 'On Tue, Mar 5, 2024 at 9:12 AM Ann <ann@x.example> wrote:\n\n> Shall we meet?'
    expect(trimReply(mail)).toEqual({ text: mail, quoted: '' })
  })
})
