// Every kind of part has a rendering on every face, and docs/rendering.md shows it.
// After a change: `PARLEY_WRITE_DOCS=1 npm test -- test/unit/markdown/part-kinds.test.ts`.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { documentedCells, type Face, faces, kinds, shownOn } from './part-kinds.ts'

const path = fileURLToPath(new URL('../../../docs/rendering.md', import.meta.url))
const heading = '## Every kind of part on every face\n\n'

describe.each(kinds)('$name', ({ part, cells }) => {
  test.each(Object.keys(faces) as Face[])('on the face %s', (face) => {
    expect(shownOn(face, part)).toBe(cells[face])
  })
})

test('docs/rendering.md shows the same cells', () => {
  const document = readFileSync(path, 'utf8')
  const start = document.indexOf(heading) + heading.length
  const cells = documentedCells()
  if (process.env['PARLEY_WRITE_DOCS'] !== undefined) writeFileSync(path, document.slice(0, start) + cells)
  else expect(document.slice(start)).toBe(cells)
})
