// A list that says of every case where it stands, and the tests that hold it to the files it names.
import { describe, expect, test } from 'vitest'

export type Coverage =
  | { readonly kind: 'covered'; readonly id: string; readonly file: string }
  | { readonly kind: 'differs'; readonly id: string; readonly file: string; readonly why: string }
  /** `claim`: part of the name of the test that shows it. */
  | { readonly kind: 'core'; readonly id: string; readonly file: string; readonly claim: string }
  | { readonly kind: 'left out'; readonly id: string; readonly reason: string }

export function covered(file: string, ids: string): readonly Coverage[] {
  return ids.split(' ').map((id) => ({ kind: 'covered', id, file }))
}

export function differs(id: string, file: string, why: string): Coverage {
  return { kind: 'differs', id, file, why }
}

export function core(id: string, file: string, claim: string): Coverage {
  return { kind: 'core', id, file, claim }
}

export function leftOut(id: string, reason: string): Coverage {
  return { kind: 'left out', id, reason }
}

export type CaseList = {
  readonly title: string
  readonly coverage: readonly Coverage[]
  readonly specified: readonly string[]
  /** The folder of the suite below `test`, whose own files stand among the sources with `./`. */
  readonly folder: string
  /** Texts of test files by their path from the suite. */
  readonly sources: Readonly<Record<string, string>>
}

/** What a file calls its tests and cases: the first text of a call or of a row, and every `id`. A comment shows nothing. */
function namesIn(source: string): readonly string[] {
  const code = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  return [...code.matchAll(/(?:\bid: |[([]\s*)(['`])((?:\\.|(?!\1).)*)\1/gs)].map(([, , name = '']) => name)
}

export function holdToCases({ title, coverage, specified, folder, sources }: CaseList): void {
  const textOf = (file: string): string => sources[`../../${file}`] ?? sources[file.replace(folder, '.')] ?? ''
  const named = (file: string, id: string): boolean =>
    namesIn(textOf(file)).some((name) => new RegExp(`(?:^| )${id}(?![0-9])`).test(name))
  const count = (kind: Coverage['kind']): number => coverage.filter((entry) => entry.kind === kind).length
  const shown = count('covered') + count('core')

  describe(title, () => {
    test(`covers ${shown} of ${specified.length} cases, differs on ${count('differs')}, leaves out ${count('left out')}`, () => {
      expect(coverage.map(({ id }) => id).toSorted()).toEqual(specified.toSorted())
    })

    test('has a test under the id of every case it says it covers, in the file it names', () => {
      const missing = coverage.filter(
        (entry) => (entry.kind === 'covered' || entry.kind === 'differs') && !named(entry.file, entry.id),
      )
      expect(missing).toEqual([])
    })

    test('names tests of others that are there', () => {
      expect(coverage.filter((entry) => entry.kind === 'core' && !textOf(entry.file).includes(entry.claim))).toEqual([])
    })

    test('leaves out nothing that runs here', () => {
      const running = coverage.filter(
        ({ kind, id }) =>
          kind === 'left out' &&
          Object.entries(sources).some(([path, text]) => path.startsWith('./') && text.includes(`'${id}'`)),
      )
      expect(running).toEqual([])
    })
  })
}
