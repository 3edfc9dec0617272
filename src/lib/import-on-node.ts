// Loads a module that only Node can run, without a bundler following it: a Worker must not carry it.

/** Write the name as a literal: `test/process/deploy/package.test.ts` reads it to know what the package has to install. */
export async function importOnNode<Module>(name: string): Promise<Module> {
  return (await import(/* @vite-ignore */ name)) as Module
}
