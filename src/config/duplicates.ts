// Names that were given more than once, each told once.

export function findDuplicates(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
