// Assertions of the adapter kit, on node:assert alone: they fail in any test runner, with what was expected and what was there.
import { AssertionError } from 'node:assert'

class AnyOf {
  readonly constructed: typeof String | typeof Number
  constructor(constructed: typeof String | typeof Number) {
    this.constructed = constructed
  }
}

type Wanted = { readonly actual: unknown; readonly expected?: unknown; readonly operator: string }

class Expectation {
  readonly #actual: unknown
  readonly #about: string | undefined
  readonly #isNegated: boolean

  constructor(actual: unknown, about: string | undefined, isNegated = false) {
    this.#actual = actual
    this.#about = about
    this.#isNegated = isNegated
  }

  get not(): Expectation {
    return new Expectation(this.#actual, this.#about, !this.#isNegated)
  }

  toBe(expected: unknown): void {
    this.#check(Object.is(this.#actual, expected), 'toBe', expected)
  }
  toBeUndefined(): void {
    this.#check(this.#actual === undefined, 'toBeUndefined')
  }
  toBeDefined(): void {
    this.#check(this.#actual !== undefined, 'toBeDefined')
  }
  /** Deep, and a property that is undefined is as good as none. */
  toEqual(expected: unknown): void {
    this.#check(matchesExpected(this.#actual, expected, 'whole'), 'toEqual', expected)
  }
  /** Deep; objects may have more properties, lists are as long as expected. */
  toMatchObject(expected: object): void {
    this.#check(matchesExpected(this.#actual, expected, 'part'), 'toMatchObject', expected)
  }
  toContain(expected: unknown): void {
    const actual = this.#actual
    const isThere =
      typeof actual === 'string' ? actual.includes(String(expected)) : [...(actual as unknown[])].includes(expected)
    this.#check(isThere, 'toContain', expected)
  }
  toHaveLength(expected: number): void {
    this.#check((this.#actual as { readonly length: number }).length === expected, 'toHaveLength', expected)
  }
  toHaveProperty(name: string): void {
    this.#check(
      typeof this.#actual === 'object' && this.#actual !== null && name in this.#actual,
      'toHaveProperty',
      name,
    )
  }
  toMatch(pattern: RegExp): void {
    this.#check(pattern.test(String(this.#actual)), 'toMatch', pattern)
  }
  toBeLessThan(limit: number): void {
    this.#check((this.#actual as number) < limit, 'toBeLessThan', limit)
  }
  toBeGreaterThanOrEqual(limit: number): void {
    this.#check((this.#actual as number) >= limit, 'toBeGreaterThanOrEqual', limit)
  }
  /** `words`: what the message contains. */
  toThrow(words = ''): void {
    let thrown: { readonly message: string } | undefined
    try {
      ;(this.#actual as () => unknown)()
    } catch (error) {
      thrown = { message: error instanceof Error ? error.message : String(error) }
    }
    const operator = `toThrow ${words}`
    if (thrown?.message.includes(words) === this.#isNegated) throwAssertion(this.#about, { actual: thrown, operator })
    if (thrown === undefined && !this.#isNegated)
      throwAssertion(this.#about, { actual: 'nothing was thrown', operator })
  }

  #check(isMet: boolean, operator: string, expected?: unknown): void {
    if (isMet !== this.#isNegated) return
    throwAssertion(this.#about, {
      actual: this.#actual,
      expected,
      operator: this.#isNegated ? `not ${operator}` : operator,
    })
  }
}

function throwAssertion(about: string | undefined, wanted: Wanted): never {
  const error = new AssertionError(wanted)
  if (about === undefined || about === '') throw error
  // Given at once, it stands in the stack as well, which is what node:test shows.
  throw new AssertionError({ ...wanted, message: `${about}: ${error.message}` })
}

function matchesExpected(actual: unknown, expected: unknown, how: 'whole' | 'part'): boolean {
  if (expected instanceof AnyOf)
    return expected.constructed === String ? typeof actual === 'string' : typeof actual === 'number'
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null)
    return Object.is(actual, expected)
  if (Array.isArray(expected) !== Array.isArray(actual)) return false
  const [found, wanted] = [listFields(actual), listFields(expected)]
  const isPart = how === 'part' && !Array.isArray(expected)
  if (!isPart && found.size !== wanted.size) return false
  return [...wanted].every(([name, value]) => found.has(name) && matchesExpected(found.get(name), value, how))
}

function listFields(value: object): ReadonlyMap<string, unknown> {
  if (Array.isArray(value)) return new Map(value.map((each, index) => [String(index), each]))
  if (value instanceof Uint8Array) return new Map([['bytes', Buffer.from(value).toString('hex')]])
  return new Map(Object.entries(value).filter(([, each]) => each !== undefined))
}

/** `about` stands before the message where the assertion fails. */
export function expect(actual: unknown, about?: string): Expectation {
  return new Expectation(actual, about)
}

/** Equal to every string, or every number. */
expect.any = (constructed: typeof String | typeof Number): unknown => new AnyOf(constructed)

expect.unreachable = (about: string): never => throwAssertion(undefined, { actual: about, operator: 'unreachable' })
