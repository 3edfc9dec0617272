// A secret that prints as hidden and is opened only where it is used.

/** A credential. Converting it to text or JSON never shows it; `reveal()` does. */
export type Secret = {
  readonly reveal: () => string
  readonly toString: () => string
  readonly toJSON: () => string
}

const hidden = '[hidden]'
// Node's inspector looks for this symbol; naming it through the registry needs no Node import.
const inspect = Symbol.for('nodejs.util.inspect.custom')

export function secret(value: string): Secret {
  const showHidden = () => hidden
  return Object.freeze({ reveal: () => value, toString: showHidden, toJSON: showHidden, [inspect]: showHidden })
}
