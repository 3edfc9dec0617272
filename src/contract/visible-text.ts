// Names that are compared must be seen as they are: nothing hidden in them, nothing at their ends.

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

export function isVisible(text: string): boolean {
  return text.trim() === text && !invisible.test(text) && text.isWellFormed()
}
