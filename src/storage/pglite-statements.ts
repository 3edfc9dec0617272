// Statements on PGlite, planned once per process and executed by name: planning one anew costs more there than running it.
import type { PGlite } from '@electric-sql/pglite'
import type { Driver, Param, Statement } from './database.ts'

type Executor = Pick<PGlite, 'query' | 'exec'>

export type PreparedStatements = {
  /** `settings` hold for the one statement, and so for its plan. */
  readonly driver: (settings?: string) => Driver
  /** Uses what is prepared and prepares nothing: that would wait for the end of the very transaction. */
  readonly within: (transaction: Executor) => Driver
}

/** Everything else, such as VACUUM, cannot be prepared. */
const preparable = /^\s*(with|select|insert|update|delete)\b/i

export function createPreparedStatements(engine: PGlite): PreparedStatements {
  const ready = new Map<string, string>()
  const preparing = new Map<string, Promise<void>>()
  let names = 0
  const begin = async (text: string): Promise<void> => {
    names += 1
    const name = `parley_${names}`
    try {
      await engine.exec(`prepare ${name} as ${text}`)
      ready.set(text, name)
    } finally {
      preparing.delete(text)
    }
  }
  /** Whoever comes while a statement is being prepared waits for it; one that failed is tried again next time. */
  const prepare = async (text: string): Promise<void> => {
    if (ready.has(text) || !preparable.test(text)) return
    const begun = preparing.get(text) ?? begin(text)
    preparing.set(text, begun)
    await begun
  }
  const run = async <Row>(on: Executor, { text }: Statement, params: readonly Param[], settings: string) => {
    const name = ready.get(text)
    if (name === undefined) return (await on.query<Row>(text, [...params])).rows
    const call = params.length === 0 ? name : `${name}(${params.map(literal).join(', ')})`
    const results = await on.exec(`${settings}execute ${call}`)
    // The statement's own columns; the store that wrote the statement states their type.
    return (results.at(-1)?.rows ?? []) as unknown as readonly Row[]
  }
  return {
    driver: (settings = '') => ({
      async run(asked, params) {
        await prepare(asked.text)
        return run(engine, asked, params, settings)
      },
      script: (asked) => engine.exec(asked.text),
    }),
    within: (transaction) => ({
      run(asked, params) {
        // For the next time; this one does without.
        if (!ready.has(asked.text)) void prepare(asked.text).catch(() => {})
        return run(transaction, asked, params, '')
      },
      script: (asked) => transaction.exec(asked.text),
    }),
  }
}

/** EXECUTE takes literals only; unquoted they would have a type. With standard strings a quote is all there is to escape. */
function literal(param: Param): string {
  return param === null ? 'null' : `'${String(param).replaceAll("'", "''")}'`
}
