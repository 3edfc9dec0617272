// Copies for observers, so that what one changes or keeps is its own and never what is stored.

/** Values that cannot be copied (functions, connections) are left out. */
export function cloneForObserver<T>(value: T): T {
  try {
    return structuredClone(value)
  } catch {
    // Of the same shape, apart from what a watcher could do nothing with.
    return copyWithoutFunctions(value, maxDepth) as T
  }
}

const maxDepth = 64

function copyWithoutFunctions(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if (depth === 0) return undefined
  if (Array.isArray(value)) return value.map((item: unknown) => copyWithoutFunctions(item, depth - 1))
  const entries = Object.entries(value).map(([key, item]) => [key, copyWithoutFunctions(item, depth - 1)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}
