// What a release consists of, made by the build from the lock file and the installed packages: dist/sbom.cdx.json (CycloneDX 1.6) and
// dist/THIRD_PARTY_LICENSES.txt with every package's own licence. The same packages give the same two files, byte for byte.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './bundle.js'

/** Files that packages keep their licence in. */
const licenceFile = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/** `stamps`: what each bundle was made of, as the bundler wrote it down. */
export async function writeBillOfMaterials(stamps) {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const own = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const bundled = await bundledPaths(stamps)
  const paths = Object.keys(lock.packages)
    .filter((path) => path !== '' && (bundled.has(path) || isInstalled(lock.packages[path])))
    .sort()
  const parts = []
  for (const path of paths) parts.push(await partAt(path, lock.packages[path], bundled.has(path)))
  await writeFile(join(root, 'dist', 'sbom.cdx.json'), `${JSON.stringify(document(own, parts), null, 1)}\n`)
  await writeFile(join(root, 'dist', 'THIRD_PARTY_LICENSES.txt'), notices(own, parts))
  return parts.length
}

/** With `npm install --omit=dev`, on some platform. */
function isInstalled({ dev, devOptional, link }) {
  return dev !== true && devOptional !== true && link !== true
}

async function bundledPaths(stamps) {
  const found = new Set()
  for (const stamp of stamps) {
    const { files } = JSON.parse(await readFile(join(root, stamp), 'utf8'))
    for (const path of Object.keys(files)) {
      const [, folder] = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
      if (folder !== undefined) found.add(folder)
    }
  }
  return found
}

async function partAt(path, { version, integrity, license, hasInstallScript, optional }, isBundled) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const folder = join(root, path)
  const manifest = existsSync(join(folder, 'package.json'))
    ? JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    : {}
  return {
    name,
    version,
    integrity,
    isBundled,
    isOptional: optional === true,
    hasInstallScript: hasInstallScript === true,
    licence: licenceName(manifest.license ?? license),
    texts: await licenceTexts(folder),
  }
}

function licenceName(given) {
  if (typeof given === 'string') return given
  return typeof given?.type === 'string' ? given.type : 'NOASSERTION'
}

async function licenceTexts(folder) {
  if (!existsSync(folder)) return []
  const names = (await readdir(folder)).filter((name) => licenceFile.test(name)).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')))
  return texts.map((text) => text.trim()).filter((text) => text !== '')
}

function document(own, parts) {
  const components = parts.map((part) => {
    const { name, version, licence, integrity, isBundled, isOptional, hasInstallScript } = part
    return {
      type: 'library',
      'bom-ref': `${purl(name, version)}${isBundled ? '?bundled' : ''}`,
      name,
      version,
      purl: purl(name, version),
      scope: isOptional ? 'optional' : 'required',
      licenses: [/^[\w.+-]+$/.test(licence) ? { license: { id: licence } } : { expression: licence }].filter(
        () => licence !== 'NOASSERTION',
      ),
      hashes: hashesOf(integrity),
      properties: [
        { name: 'parley:bundled', value: String(isBundled) },
        { name: 'parley:install-script', value: String(hasInstallScript) },
      ],
    }
  })
  const seen = new Map(components.map((component) => [component['bom-ref'], component]))
  const unique = [...seen.values()]
  const digest = createHash('sha256').update(JSON.stringify(unique)).digest('hex')
  const [, a, b, c, d, e] = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(digest) ?? []
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${a}-${b}-5${c.slice(1)}-a${d.slice(1)}-${e}`,
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': purl(own.name, own.version), name: own.name, version: own.version },
    },
    components: unique,
  }
}

function purl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** npm's are base64, those of the format hex. */
function hashesOf(integrity) {
  const algorithms = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' }
  return (integrity ?? '').split(' ').flatMap((each) => {
    const [algorithm, value = ''] = each.split(/-(.*)/s)
    const alg = algorithms[algorithm]
    return alg === undefined ? [] : [{ alg, content: Buffer.from(value, 'base64').toString('hex') }]
  })
}

function notices(own, parts) {
  const head = `${own.name} ${own.version} contains or installs these packages. THIRD_PARTY_NOTICES.md is about the programs of PostgreSQL.`
  const unique = new Map(parts.map((part) => [`${part.name}@${part.version}`, part]))
  const entries = [...unique].sort(([one], [other]) => (one < other ? -1 : 1))
  const rule = '-'.repeat(80)
  const texts = entries.map(([title, { licence, texts: found }]) =>
    [
      rule,
      `${title} (${licence})`,
      '',
      found.length === 0 ? 'The package holds no licence text.' : found.join('\n\n'),
    ].join('\n'),
  )
  return `${[head, ...texts].join('\n')}\n`
}
