// Names that are compared must be seen as they are: nothing hidden in them, nothing at their ends.

const invisibleCharacter = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

export function hasOnlyVisibleCharacters(text: string): boolean {
  return text.trim() === text && !invisibleCharacter.test(text) && text.isWellFormed()
}
