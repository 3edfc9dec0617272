// Documents are not executed, so what they name is checked to exist.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { activitypubSettingsSchema } from '../../adapters/activitypub/config.ts'
import { documentFaults, type Repository } from './document-claims.ts'
import { checkoutRoot, listFiles } from './source-tree.ts'

const sourceFolders = ['src', 'adapters', 'scripts', 'bin', 'test', 'bench', 'deploy', '.ci', '.github']
const isDocument = (path: string) =>
  /^(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md$|^docs\/.*\.md$|^adapters\/[^/]+\/README\.md$|^bench\/README\.md$/.test(
    path,
  )
const isSource = (path: string) => /\.([cm]?[jt]sx?|ya?ml|toml)$/.test(path) && !path.startsWith('test/architecture/')

function thisRepository(): Repository {
  const read = (path: string) => readFileSync(join(checkoutRoot, path), 'utf8')
  const manifest: { readonly scripts: object; readonly bin: object } = JSON.parse(read('package.json'))
  const files = listFiles([''])
  const sources = files.filter((path) => isSource(path) && sourceFolders.includes(path.split('/')[0] ?? ''))
  return {
    files,
    scripts: new Set(Object.keys(manifest.scripts)),
    commands: new Set([...Object.keys(manifest.bin), ...readdirSync(join(checkoutRoot, 'node_modules', '.bin'))]),
    source: [...sources, 'vitest.config.ts'].map(read).join('\n'),
  }
}

describe('the claims of a document', () => {
  const repository: Repository = {
    files: [
      'README.md',
      'src/gateway.ts',
      'adapters/pigeon/README.md',
      'adapters/pigeon/verify.ts',
      'docs/guide.md',
      'bin/p.js',
    ],
    scripts: new Set(['build', 'test', 'start']),
    commands: new Set(['parley', 'vitest']),
    source: "env['PIGEON_TOKEN']; env['DATABASE_URL']",
  }
  const faults = (markdown: string, file = 'docs/other.md') => documentFaults(file, markdown, repository)

  test.each([
    ['`src/gone.ts`', '1 names src/gone.ts, which does not exist'],
    ['see `src/gateway.tsx`', '1 names src/gateway.tsx, which does not exist'],
    ['\n`adapters/<channel>/live.ts`', '2 names adapters/<channel>/live.ts, which does not exist'],
    ['`SECURITY.md`', '1 names SECURITY.md, which does not exist'],
    ['[guide](gone.md)', '1 links to gone.md, which does not exist'],
    ['[guide](../src/gone.ts#L3)', '1 links to ../src/gone.ts#L3, which does not exist'],
    ['[g]: ./gone.md', '1 links to ./gone.md, which does not exist'],
    ['`npm run deploy`', '1 runs npm script deploy, which does not exist'],
    ['```sh\nnpm run build && npm run deploy -- --x\n```', '2 runs npm script deploy, which does not exist'],
    ['```sh\n$ npm stop\n```', '2 runs npm script stop, which does not exist'],
    ['`npx wrangler deploy`', '1 runs npx wrangler, which this checkout does not have'],
    ['```\nnode bin/gone.js start\n```', '2 runs node bin/gone.js, which does not exist'],
    ['`PIGEON_SECRET`', '1 names the variable PIGEON_SECRET, which no source file knows'],
    ['`PIGEON_TOK`', '1 names the variable PIGEON_TOK, which no source file knows'],
    ['```sh\nexport PIGEON_SECRET=x\n```', '2 names the variable PIGEON_SECRET, which no source file knows'],
    ['```sh\ncurl "$PIGEON_URL"\n```', '2 names the variable PIGEON_URL, which no source file knows'],
  ])('%j is seen through', (markdown, fault) => {
    expect(faults(markdown)).toEqual([`docs/other.md:${fault}`])
  })

  test.each([
    '`src/gateway.ts`, `src/gateway.ts:12`, `./src/gateway.ts`, `src/`, `adapters/pigeon`, `README.md`',
    '`adapters/<channel>/verify.ts` `adapters/*/verify.ts` `adapters/{pigeon,crow}/verify.ts` `**/verify.ts` `docs/**/*.md`',
    '[guide](guide.md) [here](#top) [out](https://x.example/a/b.md) [readme](../README.md#use)',
    '`npm install`, `npm test`, `npm start`, `npm run build`, `npm test -- test/x`',
    '`npx parley start`, `npx vitest run`',
    '```sh\nnode bin/p.js start\nnode --enable-source-maps dist/parley.js\nexport PIGEON_TOKEN=x DATABASE_URL=y\n```',
    '`GET /api/v1/agent/run`, `and/or`, `application/json`, `@local/domain`, `TODO`, `SIGTERM`',
    '```ts\nconst MAX_SIZE: number = 3\nawait fetch(x)\n```',
  ])('%j is true', (markdown) => {
    expect(faults(markdown)).toEqual([])
  })
})

describe('the documents of this repository', () => {
  const repository = thisRepository()
  const documents = repository.files.filter(isDocument)

  test('claim nothing that is not so', () => {
    const read = (path: string) => readFileSync(join(checkoutRoot, path), 'utf8')
    expect(documents.flatMap((path) => documentFaults(path, read(path), repository))).toEqual([])
  })

  test('link the name of a function to a file that declares it', () => {
    const read = (path: string) => readFileSync(join(checkoutRoot, path), 'utf8')
    const wrong = documents.flatMap((path) =>
      [...read(path).matchAll(/\[`([A-Za-z]\w*)`\]\(([^)#]+\.ts)\)/g)]
        .filter(([, name = '', link = '']) => {
          const source = read(posix.join(posix.dirname(path), link))
          return !new RegExp(`\\b(function|const|type|interface|class) ${name}\\b`).test(source)
        })
        .map(([whole]) => `${path}: ${whole}`),
    )
    expect(wrong).toEqual([])
  })

  describe('name every variable of .env.example', () => {
    const read = (path: string) => readFileSync(join(checkoutRoot, path), 'utf8')
    const variables = [...read('.env.example').matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name ?? '')
    // The container says these itself.
    const fixed = ['PARLEY_HOST', 'PARLEY_PORT', 'PARLEY_DATA_DIR']

    test('deploy/compose.yaml, which hands them to the gateway', () => {
      const passed = [...read('deploy/compose.yaml').matchAll(/^ {6}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name)
      expect(variables.filter((name) => !fixed.includes(name) && !passed.includes(name))).toEqual([])
    })

    test('README, in its table of settings', () => {
      const named = new Set(read('README.md').match(/(?<=`)[A-Z][A-Z0-9_]+(?=`)/g))
      expect(variables.filter((name) => !named.has(name))).toEqual([])
    })
  })

  test('list every channel in README, each with a page that exists', () => {
    const readme = readFileSync(join(checkoutRoot, 'README.md'), 'utf8')
    const channels = readdirSync(join(checkoutRoot, 'adapters'), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    )
    const rows = new Set([...readme.matchAll(/^\| `([a-z0-9]+)` +\|.*\]\([^)]+\.md\) *\|$/gm)].map(([, name]) => name))
    expect(channels.filter((name) => !rows.has(name))).toEqual([])
  })

  test('name every setting of a fediverse connection on its page', () => {
    const page = readFileSync(join(checkoutRoot, 'docs/activitypub.md'), 'utf8')
    const named = new Set([...page.matchAll(/^\| `([a-zA-Z]+)`/gm)].map(([, name]) => name))
    expect(Object.keys(activitypubSettingsSchema.shape).filter((name) => !named.has(name))).toEqual([])
  })

  test('name the readiness route as it is', () => {
    const read = (path: string) => readFileSync(join(checkoutRoot, path), 'utf8')
    expect(documents.filter((path) => /`(?:GET )?\/ready`/.test(read(path)))).toEqual([])
  })
})
