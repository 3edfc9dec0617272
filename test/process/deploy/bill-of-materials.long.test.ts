// The list of what a release consists of, which the build makes beside its bundles.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../architecture/source-tree.ts'

type Component = {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly unknown[]
  readonly hashes: readonly { readonly alg: string; readonly content: string }[]
  readonly properties: readonly { readonly name: string; readonly value: string }[]
}

test('the build lists what a release consists of, each part with version, hash and licence, the same every time', async () => {
  const { writeBillOfMaterials } = await import(join(checkoutRoot, 'scripts', 'bill-of-materials.js'))
  const stamps = ['parley', 'index', 'client', 'worker']
    .map((name) => `dist/${name}.js.inputs.json`)
    .filter((path) => existsSync(join(checkoutRoot, path)))
  expect(stamps.length).toBeGreaterThan(0)
  const write = async (): Promise<string> => {
    await writeBillOfMaterials(stamps)
    return readFileSync(join(checkoutRoot, 'dist', 'sbom.cdx.json'), 'utf8')
  }
  const text = await write()
  expect(await write()).toBe(text)
  const bill = JSON.parse(text) as { bomFormat: string; specVersion: string; components: Component[] }
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
  for (const { name, version, licenses, hashes } of bill.components) {
    expect([name, version.length > 0, licenses.length]).toEqual([name, true, 1])
    expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/)
  }
  const names = bill.components.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['hono', 'jose', 'postgres', 'zod', 'nodemailer', 'mailauth']))
  for (const name of Object.keys(JSON.parse(readFileSync(join(checkoutRoot, 'package.json'), 'utf8')).dependencies))
    expect(names).toContain(name)
  const licences = readFileSync(join(checkoutRoot, 'dist', 'THIRD_PARTY_LICENSES.txt'), 'utf8')
  for (const { name, version } of bill.components) expect(licences).toContain(`${name}@${version} (`)
})
