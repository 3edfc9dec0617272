// What is installed, fetched and started: pinned by hash, listed with its licence, and with a reason where it runs a script.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkoutRoot } from './source-tree.ts'

type Entry = {
  readonly version?: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly link?: boolean
}
type Lock = { readonly packages: Readonly<Record<string, Entry>> }

const readJson = (path: string) => JSON.parse(readFileSync(join(checkoutRoot, path), 'utf8'))
const lockFiles = [
  'package-lock.json',
  'bench/package-lock.json',
  'test/interop/package-lock.json',
  'test/interop/copilotkit/package-lock.json',
]
const nameIn = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

test.each(lockFiles)('every install script of %s is listed with its reason, and nothing else is', (file) => {
  const { packages } = readJson(file) as Lock
  const found = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path, { version }]) => `${nameIn(path)}@${version}`)
  const listed = readJson('scripts/install-scripts.json')[file] as Record<string, string>
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(listed).toSorted())
  for (const reason of Object.values(listed)) expect(reason.length).toBeGreaterThan(15)
})

test('no package of a release may run a script when it is installed', () => {
  const { packages } = readJson('package-lock.json') as Lock
  const { allowScripts } = readJson('package.json') as { allowScripts: Record<string, boolean> }
  const withScript = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  expect(new Set(withScript.map(([path]) => nameIn(path)))).toEqual(new Set(Object.keys(allowScripts)))
  for (const [path, { dev }] of withScript) expect([path, allowScripts[nameIn(path)]]).toEqual([path, dev === true])
})

test.each(lockFiles)('every package of %s has a version and a hash', (file) => {
  const { packages } = readJson(file) as Lock
  const loose = Object.entries(packages).filter(
    ([path, { version, integrity, link }]) =>
      path.includes('node_modules/') && link !== true && (version === undefined || !/^sha512-/.test(integrity ?? '')),
  )
  expect(loose.map(([path]) => path)).toEqual([])
})

test('a newer Node is pinned for each platform: its package, and the program that is started', () => {
  const launcher = readFileSync(join(checkoutRoot, 'bin', 'fetch-node.js'), 'utf8')
  const platforms = launcher.match(/'(linux|darwin)-\w+': \{/g) ?? []
  expect(platforms).toHaveLength(4)
  expect(new Set(launcher.match(/integrity: 'sha512-[\w+/=]{88}'/g)).size).toBe(platforms.length)
  expect(new Set(launcher.match(/program: '[0-9a-f]{64}'/g)).size).toBe(platforms.length)
})

test('both lists are in the package', () => {
  const { files } = readJson('package.json') as { files: string[] }
  expect(files).toEqual(expect.arrayContaining(['dist/sbom.cdx.json', 'dist/THIRD_PARTY_LICENSES.txt']))
})
