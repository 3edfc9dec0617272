// Any tree becomes a mail whose HTML is ours alone and whose text fits a page.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderMail } from '../../../../../adapters/email/render/body.ts'
import { readHtml } from '../../../markdown/read-html.ts'
import { anyTree, lostWords } from '../../../markdown/tree-arbitrary.ts'

const allowed = new Set(
  `html head meta meta@charset body body@style p p@style blockquote blockquote@style pre pre@style code code@style ul ul@style
   ol ol@style ol@start li table table@style tbody tr th th@style td td@style h1 h1@style h2 h2@style h4 h4@style hr hr@style
   a a@href a@rel strong em del br`.split(/\s+/),
)

test('HTML is well formed, of our tags alone, leads nowhere but where the tree does, and keeps every word', () => {
  fc.assert(
    fc.property(anyTree, (root) => {
      const { html } = renderMail(root)
      const { text, used, links, repaired } = readHtml(html)
      expect([...used].filter((each) => !allowed.has(each))).toEqual([])
      expect(repaired).toEqual([])
      expect(links.filter((link) => !JSON.stringify(root).includes(JSON.stringify(link)))).toEqual([])
      expect(lostWords(root, text)).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('text keeps every word, has no bare CR, no line like a mailbox separator, and wraps what has spaces', () => {
  fc.assert(
    fc.property(anyTree, (root) => {
      const { text } = renderMail(root)
      expect(lostWords(root, text)).toEqual([])
      for (const line of text.split('\n')) {
        expect(line).not.toMatch(/\r|^From /)
        expect(line).toBe(line.trimEnd())
      }
    }),
    { numRuns: 60 },
  )
})
