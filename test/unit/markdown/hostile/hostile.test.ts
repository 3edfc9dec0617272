// Hostile markup on every face: it is read as words, leads nowhere it should not, calls nobody, and costs linear time.
import { describe, expect, test } from 'vitest'
import { parseMarkdown } from '../../../../src/markdown/index.ts'
import { isLinear } from '../../../doubles/linear-time.ts'
import { faces } from '../corpus/formats/formats.ts'
import type { Shown } from '../corpus/formats/shown.ts'
import { missingWord } from '../corpus/reading.ts'
import { attacks, floods, slowFloods } from './attacks.ts'

const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
const allowedTarget = /^(?:https?:\/\/[^\s@/]+(?:[/?#]|$)|mailto:[^\s]+@|tel:\+?[\d().;a-z=-]+$)[^\s<>"]*$/i
const brokenLine = /%0[ad]/i

function harm(markdown: string, { visible, targets, refused, live }: Shown): readonly string[] {
  return [
    ...targets.filter((url) => !allowedTarget.test(url) || (url.startsWith('mailto:') && brokenLine.test(url))),
    ...refused,
    ...live,
    ...(unseen.test(visible) ? [`shows ${JSON.stringify(unseen.exec(visible)?.[0])}`] : []),
    ...(visible.isWellFormed() ? [] : ['shows half a character']),
    ...[missingWord(parseMarkdown(markdown), visible)].flatMap((word) => (word === undefined ? [] : [`lost ${word}`])),
  ]
}

describe.each(Object.entries(faces))('%s', (_, face) => {
  test('does no harm, whatever it is given', () => {
    const harmed = attacks.map(({ what, markdown }) => [what, harm(markdown, face.show(markdown))] as const)
    expect(harmed.length).toBeGreaterThan(150)
    expect(harmed.filter(([, found]) => found.length > 0)).toEqual([])
  })

  test('does no harm in the middle of other words', () => {
    const harmed = attacks.map(({ what, markdown }) => {
      const inside = `Before **it**:\n\n${markdown}\n\nafter ${markdown} it, and\n\n- ${markdown.replaceAll(/\s+/g, ' ')}`
      return [what, harm(inside, face.show(inside))] as const
    })
    expect(harmed.filter(([, found]) => found.length > 0)).toEqual([])
  })
})

describe('markup without end', () => {
  // Both halves of a mail are rendered together.
  const timed = Object.entries(faces).filter(([name]) => name !== 'mailText')

  test.each(slowFloods)('costs time that grows with it: $what', { timeout: 60_000 }, ({ make }) => {
    const [half, whole] = [make(50_000), make(100_000)]
    const slow = timed.filter(
      ([, face]) =>
        !isLinear(
          () => face.render(half),
          () => face.render(whole),
        ),
    )
    expect(slow.map(([name]) => name)).toEqual([])
  })

  test.each(floods)('stays within every limit and calls nobody: $what', { timeout: 60_000 }, ({ make }) => {
    const markdown = make(20_000)
    const harmed = Object.entries(faces).map(([name, face]) => {
      const { refused, live } = face.show(markdown)
      return [name, [...refused, ...live]] as const
    })
    expect(harmed.filter(([, found]) => found.length > 0)).toEqual([])
  })
})
