// Any tree becomes a thread of posts in the small HTML that other servers keep.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderNoteThread } from '../../../../../adapters/activitypub/render/note.ts'
import { readHtml } from '../../../markdown/read-html.ts'
import { anyTree, lostWords } from '../../../markdown/tree-arbitrary.ts'

const allowed = new Set(
  'p br a a@href a@rel a@target span strong em del code pre blockquote ul ol ol@start li'.split(' '),
)

test('posts are within the limit, well formed, of allowed tags alone, numbered, and keep every word', () => {
  fc.assert(
    fc.property(anyTree, fc.constantFrom(150, 500, 5000), (root, limit) => {
      const notes = renderNoteThread(root, { limit })
      const read = notes.map(({ html }) => readHtml(html))
      notes.forEach(({ plainLength, html }, index) => {
        expect(plainLength).toBeLessThanOrEqual(limit)
        expect(new TextEncoder().encode(html).length).toBeLessThan(60_000)
        if (notes.length > 1) expect(read[index]?.text).toContain(`(${index + 1}/${notes.length})`)
      })
      expect(read.flatMap(({ used }) => [...used]).filter((each) => !allowed.has(each))).toEqual([])
      expect(read.flatMap(({ repaired }) => repaired)).toEqual([])
      expect(read.flatMap(({ links }) => links).filter((link) => !/^https?:/.test(link))).toEqual([])
      expect(lostWords(root, read.map(({ text }) => text).join(' '))).toEqual([])
    }),
    { numRuns: 60 },
  )
})
