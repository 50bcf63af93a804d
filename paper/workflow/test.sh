#!/bin/sh
# Runs a tiny study as shards, loses a job on the way, and compares the outcome with an unsharded run byte for byte.
# Needs snakemake; usage: paper/workflow/test.sh [path of foretune-paper]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
foretune=$(realpath "${1:-$here/../../target/release/foretune-paper}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# A program that is killed in the middle of its first shard: the workflow has to get over it.
cat > flaky <<END
#!/bin/sh
case "\$*" in
*"--shard 2/3"*)
    if mkdir lost 2>/dev/null; then
        "$foretune" "\$@" &
        job=\$!
        # Once some task of the shard is finished, but not all.
        while ! grep -qs '^#task' shards/2-of-3/fig9/units/*.csv; do sleep 0.05; done
        kill -KILL \$job
        exit 1
    fi ;;
esac
exec "$foretune" "\$@"
END
chmod +x flaky

request="--experiments 2 --tasks 3 --seed 5 --preset default --set candidates=32"
snakemake -s "$here/Snakefile" --cores 2 --quiet all --config foretune=./flaky 'figures=["fig9","fig3"]' \
    preset=default experiments=2 tasks=3 seed=5 more='--set candidates=32' shards=3 \
    work=shards results=merged report=page.html

test -d lost || { echo "no job was lost: the test tests nothing" >&2; exit 1; }
# shellcheck disable=SC2086
"$foretune" reproduce fig9 fig3 $request --out whole --quiet > /dev/null
diff -r --exclude=timing.json whole merged
grep -q '</html>' page.html
echo "the sharded study equals the unsharded one"
