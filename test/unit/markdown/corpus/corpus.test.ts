// More than two hundred answers as models write them, on every face: nothing refused, nothing lost, nobody called.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseMarkdown } from '../../../../src/markdown/index.ts'
import { corpusAnswers } from './answers.ts'
import { faces } from './formats/formats.ts'
import { addresses, missingWord } from './reading.ts'

const answers = corpusAnswers(join(import.meta.dirname, '..', '..', '..', 'fixtures', 'answers'))

test('the corpus has more than two hundred answers, each with a name of its own', () => {
  expect(answers.length).toBeGreaterThan(200)
  expect(new Set(answers.map(({ name }) => name)).size).toBe(answers.length)
  expect(answers.filter(({ markdown }) => markdown === '')).toEqual([])
})

describe.each(Object.entries(faces))('%s', { timeout: 60_000 }, (_, face) => {
  const shown = answers.map(({ name, markdown }) => ({ name, markdown, ...face.show(markdown) }))

  test('is within every limit and well formed', () => {
    expect(shown.filter(({ refused }) => refused.length > 0).map(({ name, refused }) => [name, refused])).toEqual([])
  })

  test('shows every word, in order', () => {
    const lost = shown.map(({ name, markdown, visible }) => [name, missingWord(parseMarkdown(markdown), visible)])
    expect(lost.filter(([, word]) => word !== undefined)).toEqual([])
  })

  test('leads wherever the answer leads', () => {
    const lost = shown.map(({ name, markdown, visible, targets }) => {
      const reachable = [...targets, visible].join('\n')
      const urls = [...addresses(parseMarkdown(markdown))]
      return [name, urls.filter((url) => !reachable.includes(url.replace(/^(?:mailto|tel):/, '')))] as const
    })
    expect(lost.filter(([, urls]) => urls.length > 0)).toEqual([])
  })

  test('calls nobody, and names no command but those of the gateway that only look or stop', () => {
    const harmless = /^\/(?:stop|status|help|new|agents)$/
    const called = shown.map(({ name, live }) => [name, live.filter((each) => !harmless.test(each))] as const)
    expect(called.filter(([, live]) => live.length > 0)).toEqual([])
  })

  test('is the same when it is rendered again', () => {
    for (const { name, markdown, ...once } of shown) expect(face.show(markdown), name).toEqual(once)
  })
})
